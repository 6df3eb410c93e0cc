"""Writes an ONNX graph node by node."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Precision: TypeAlias = Literal["int8", "fp32"]
Weights: TypeAlias = Mapping[str, NDArray[Any]]

INPUT = "input_ids"
OUTPUT = "embedding"
MICROSOFT = "com.microsoft"


class Nodes:
    """The nodes and constants of a graph that is being written: the tokens of one text in, its vector out."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def _serialized(self, dimensions: int) -> bytes:
        graph = helper.make_graph(
            self._nodes,
            "embedding",
            [helper.make_tensor_value_info(INPUT, TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [1, dimensions])],
            self._constants,
        )
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return bytes(helper.make_model(graph, opset_imports=versions, ir_version=9).SerializeToString())

    def _weight(self, name: str) -> NDArray[np.float32]:
        array = np.asarray(self._weights[name], dtype=np.float32)
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds what is no number")
        return array

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _numbers(self, name: str, values: Sequence[int]) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _node(self, kind: str, given: Sequence[str], *, domain: str = "", output: str = "", **attributes: Any) -> str:
        name = output or f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, given, [name], domain=domain, **attributes))
        return name
