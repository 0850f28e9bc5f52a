"""Writers that are killed at any moment: what they were told holds, and at most the commit in flight is more."""

import random
import time

import pytest

from tests.crash.victims import commit_until_killed, numbers_in_the_log, prepare
from tests.support.processes import Child, let_them_meet, run_alone, soak_seeds

ROUNDS = 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
def test_writer_when_killed_at_random_then_acknowledged_commits_stay_and_repetitions_land_once(
    database_url: str, seed: int
):
    chance = random.Random(f"{database_url.partition(':')[0]} {seed}")
    run_alone(prepare, database_url)
    told: dict[int, dict[str, int]] = {}
    for _ in range(ROUNDS):
        first = len(told)
        with Child(commit_until_killed, database_url, first) as victim:
            let_them_meet([victim])
            time.sleep(chance.uniform(0.0, 0.15))
            victim.kill()
            for number, versions, replayed in victim.messages():
                told[number] = versions
                # Only the first of a round can have been in flight when the last victim died.
                assert not replayed or number == first
        landed = run_alone(numbers_in_the_log, database_url)
        assert all(landed[number] == versions for number, versions in told.items())
        assert landed.keys() - told.keys() <= {len(told)}
        assert all(versions.keys() == {"a", "b"} for versions in landed.values())
    assert told, "no commit was ever made: the victims die too soon"
