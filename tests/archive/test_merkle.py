"""Trees: every leaf can be proved, and nothing else can."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from deedbox.archive import merkle

# From RFC 6962's own definition, computed by hand for two leaves, and for none.
EMPTY = hashlib.sha256(b"").hexdigest()
ONE, TWO = hashlib.sha256(b"\x00a").digest(), hashlib.sha256(b"\x00b").digest()


def test_leaves_and_nodes_are_hashed_apart() -> None:
    assert merkle.root([]).hex() == EMPTY
    assert merkle.root([merkle.leaf(b"a")]) == ONE
    assert merkle.root([merkle.leaf(b"a"), merkle.leaf(b"b")]) == hashlib.sha256(b"\x01" + ONE + TWO).digest()
    assert merkle.leaf(ONE + TWO) != merkle.node(ONE, TWO)


def test_the_published_vectors_of_certificate_transparency() -> None:
    inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    leaves = [merkle.leaf(bytes.fromhex(one)) for one in inputs]
    roots = {
        1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    }
    assert {size: merkle.root(leaves[:size]).hex() for size in roots} == roots


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=70))
def test_every_leaf_is_proved_by_its_path_and_by_no_other(contents: list[bytes]) -> None:
    leaves = [merkle.leaf(one) for one in contents]
    root, size = merkle.root(leaves), len(leaves)
    for index, path in enumerate(merkle.paths(leaves)):
        assert merkle.includes(root, size, index, leaves[index], path)
        assert not merkle.includes(root, size, index, merkle.leaf(b"never there"), path)
        assert not merkle.includes(root, size, index, leaves[index], [*path, root])
        assert not merkle.includes(root, size, size, leaves[index], path)
        assert not merkle.includes(root, size, -1, leaves[index], path)
        if path:
            assert not merkle.includes(root, size, index, leaves[index], path[:-1])
            assert not merkle.includes(root, size, index, leaves[index], [bytes(32), *path[1:]])
