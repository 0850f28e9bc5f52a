"""True conflicts: of those who change the same thing one wins, and nobody's update is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import twinlog
from tests.concurrency.writers import SCHEMA, TABLE, count_up, remove_the_same_files
from tests.crash.audit import audit
from tests.support.builders import commit, make_add, make_table, paths_of
from tests.support.processes import Child, let_them_meet, running, soak_seeds

REMOVERS = 4
ROUNDS = 12


@pytest.mark.parametrize("tells_version", [True, False], ids=["with read version", "without read version"])
@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_file_when_several_processes_remove_it_then_one_wins_and_the_others_change_nothing(
    database_url: str, *, tells_version: bool
):
    paths = [f"f{number}" for number in range(ROUNDS)]
    with twinlog.connect(database_url) as catalog:
        table = make_table(catalog, TABLE, schema=SCHEMA, partition_by=["writer"])
        commit(catalog, *(make_add(path, partition_values={"writer": "x"}) for path in paths), table=TABLE)
        names = [f"w{number}" for number in range(REMOVERS)]
        children = [Child(_remove, database_url, name, paths, tells_version) for name in names]
        with running(children):
            for _ in paths:
                let_them_meet(children)
            rounds = list(zip(*(child.result().outcomes for child in children), strict=True))
        expected = "ConcurrentDeleteDelete" if tells_version else "CommitRejected"
        winners = []
        for outcomes in rounds:
            (winner,) = [outcome for outcome in outcomes if outcome.versions]
            winners.append(winner.commit_id)
            assert Counter(outcome.error for outcome in outcomes) == {None: 1, expected: REMOVERS - 1}
        assert paths_of(table.snapshot().files()) == sorted(winners)
        assert audit(catalog)[TABLE].version == 1 + ROUNDS


def _remove(link, url, name, paths, tells_version):
    return remove_the_same_files(link, url, name, paths, tells_version=tells_version)


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_counter_when_several_processes_count_up_then_no_update_is_lost(database_url: str, seed: int):
    each = 15 + seed % 5
    with twinlog.connect(database_url) as catalog:
        table = make_table(catalog, TABLE, schema=SCHEMA, partition_by=["writer"])
        with running([Child(count_up, database_url, f"w{i}", each) for i in range(4)]) as children:
            let_them_meet(children)
            numbers = [number for child in children for number in child.result()]
        assert sorted(numbers) == list(range(4 * each))
        assert table.snapshot().files().num_rows == 4 * each
        audit(catalog)


class _NobodyToMeet:
    def meet(self) -> None:
        pass


def test_counter_when_several_threads_count_up_then_no_update_is_lost(database_url: str):
    with twinlog.connect(database_url) as catalog:
        make_table(catalog, TABLE, schema=SCHEMA, partition_by=["writer"])
        with ThreadPoolExecutor(3) as pool:
            counted = [pool.submit(count_up, _NobodyToMeet(), database_url, f"t{i}", 8) for i in range(3)]
            numbers = [number for each in counted for number in each.result()]
        assert sorted(numbers) == list(range(24))
        audit(catalog)
