"""The README's examples are run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_python_example_of_the_readme_runs_and_shows_both_tables_committed(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)

    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "{'sales': 1, 'orders': 1} 1\n"), done.stderr


def test_commands_of_the_readme_run_and_end_with_the_log(tmp_path):
    (commands,) = re.findall(r"```\n(export TWINLOG_CATALOG.*?)```", README.read_text(), re.DOTALL)
    script = commands.replace(".venv/bin/twinlog", str(Path(sys.executable).with_name("twinlog")))

    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=False, env=dict(os.environ)
    )

    assert done.returncode == 0, done.stderr
    assert '"operation":"CREATE TABLE"' in done.stdout.splitlines()[-1]
    assert "a.parquet" in done.stdout


def test_sql_example_of_the_readme_runs_on_a_catalog(tmp_path, catalog):
    (query,) = re.findall(r"```sql\n(.*?)```", README.read_text(), re.DOTALL)

    with catalog._database.engine.connect() as connection:
        assert connection.exec_driver_sql(query).fetchall() == []


def test_readme_shows_the_two_commands_on_its_first_screen():
    first_screen = README.read_text().splitlines()[:15]

    assert any(line.startswith("make demo") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)
