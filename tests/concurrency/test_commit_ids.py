"""The same commit id from several processes at once: one commit lands, and everybody is told where."""

from collections import Counter
from collections.abc import Sequence

import pytest

import twinlog
from tests.concurrency.writers import Outcome, race_with_commit_ids
from tests.crash.audit import audit
from tests.support.builders import make_table, paths_of
from tests.support.processes import Child, let_them_meet, running, soak_seeds

ROUNDS = 40

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def race(url: str, orders: Sequence[Sequence[str]], *, label: str = "race") -> list[list[Outcome]]:
    """Let a process for each order of tables commit the same ids; gives each round's outcomes."""
    commit_ids = [f"{label}-{number}" for number in range(ROUNDS)]
    with running([Child(race_with_commit_ids, url, order, commit_ids) for order in orders]) as children:
        for _ in commit_ids:
            let_them_meet(children)
        reports = [child.result() for child in children]
    return [list(outcomes) for outcomes in zip(*(report.outcomes for report in reports), strict=True)]


def check_rounds(rounds: Sequence[Sequence[Outcome]]) -> None:
    for outcomes in rounds:
        assert [outcome for outcome in outcomes if outcome.error] == []
        assert len({tuple(sorted((outcome.versions or {}).items())) for outcome in outcomes}) == 1, outcomes
        assert Counter(outcome.replayed for outcome in outcomes) == {False: 1, True: len(outcomes) - 1}


def test_commit_id_when_used_by_two_processes_at_once_then_one_lands_and_both_learn_its_version(database_url: str):
    with twinlog.connect(database_url) as catalog:
        table = make_table(catalog, "a")
        rounds = race(database_url, [["a"], ["a"]])
        check_rounds(rounds)
        landed = {record.commit_id: record.version for record in table.history()[:-1]}
        assert landed == {outcomes[0].commit_id: (outcomes[0].versions or {})["a"] for outcomes in rounds}
        assert paths_of(table.snapshot().files()) == sorted(f"{commit_id}-a" for commit_id in landed)
        assert audit(catalog)["a"].version == ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
def test_commit_id_when_used_for_the_same_tables_in_any_order_then_one_lands(database_url: str, seed: int):
    with twinlog.connect(database_url) as catalog:
        for name in ("b", "c", "a"):  # ids and names are in different orders
            make_table(catalog, name)
        rounds = race(database_url, [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]], label=f"seed-{seed}")
        check_rounds(rounds)
        assert {name: head.version for name, head in audit(catalog).items()} == dict.fromkeys("abc", ROUNDS)


def test_commit_id_when_used_for_different_tables_at_once_then_one_lands_and_the_other_is_told(database_url: str):
    with twinlog.connect(database_url) as catalog:
        make_table(catalog, "a")
        make_table(catalog, "b")
        rounds = race(database_url, [["a"], ["b"]])
        for outcomes in rounds:
            (winner,) = [outcome for outcome in outcomes if outcome.versions]
            (loser,) = [outcome for outcome in outcomes if outcome.error]
            (table,) = winner.versions or {}
            assert loser.error == "CommitRejected"
            assert f"commit id {loser.commit_id!r} was used for {table}" in loser.message
            assert "use a new commit id" in loser.message
        heads = audit(catalog)
        assert heads["a"].version + heads["b"].version == ROUNDS
