"""Columns that grow at their ends."""

import numpy as np
from numpy.typing import NDArray

from deedbox.search.index.room import Column, GrowingColumns


def columns(*values: int) -> list[Column]:
    return [np.array(values, np.uint32), np.array([[value, value] for value in values], np.uint8).reshape(-1, 2)]


def shares(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    return np.shares_memory(one, other)


def told(found: list[Column]) -> list[int]:
    assert found[1].tolist() == [[value, value] for value in found[0].tolist()]
    return list(found[0].tolist())


def test_the_newest_grows_without_a_copy_and_older_ones_see_what_they_saw() -> None:
    first, room = GrowingColumns().extended(columns(1, 2), columns(3))
    second, again = room.extended(first, columns(4, 5))
    assert (told(first), told(second)) == ([1, 2, 3], [1, 2, 3, 4, 5])
    assert again is room
    assert shares(first[0], second[0])
    assert shares(first[1], second[1])


def test_of_two_that_grow_out_of_one_the_second_is_a_copy() -> None:
    first, room = GrowingColumns().extended(columns(1), columns(2))
    one, _ = room.extended(first, columns(3))
    other, _ = room.extended(first, columns(4))
    assert (told(first), told(one), told(other)) == ([1, 2], [1, 2, 3], [1, 2, 4])
    assert not shares(one[0], other[0])


def test_other_columns_of_the_same_length_are_not_taken_for_those_of_the_room() -> None:
    first, room = GrowingColumns().extended(columns(1, 2), columns(3))
    other, _ = room.extended(columns(7, 8, 9), columns(4))
    grown, _ = room.extended(first, columns(5))
    assert (told(other), told(grown)) == ([7, 8, 9, 4], [1, 2, 3, 5])


def test_columns_move_when_there_is_no_more_room() -> None:
    found, room = columns(), GrowingColumns()
    rooms = {id(room)}
    for value in range(20_000):
        found, room = room.extended(found, columns(value % 251))
        rooms.add(id(room))
    assert told(found) == [value % 251 for value in range(20_000)]
    assert len(rooms) < 10


def test_nothing_can_be_added_to_nothing() -> None:
    found, room = GrowingColumns().extended(columns(), columns())
    assert told(found) == []
    assert told(room.extended(found, columns(1))[0]) == [1]
