"""Which added files a commit would have read, had they been there: the partitions that its reads cover."""

from collections.abc import Mapping
from dataclasses import dataclass

from twinlog.protocol.actions import PartitionValues
from twinlog.protocol.file_facts import SAME_NAMES, FileFacts, PhysicalPaths
from twinlog.protocol.isolation import ReadSet
from twinlog.protocol.predicates import ALWAYS, ColumnPath, Predicate
from twinlog.protocol.pruning import may_match, partition_only
from twinlog.protocol.table_state import TableState


@dataclass(frozen=True, slots=True)
class ReadRegion:
    """A commit's filters, each with what partition values can tell of it, and how to read those values.

    In a table without partitions nothing can be told, so every added file is in the region of any filter.
    """

    filters: Mapping[Predicate, Predicate]
    partition_types: Mapping[ColumnPath, str]
    physical_paths: PhysicalPaths

    @classmethod
    def of(cls, reads: ReadSet, state: TableState) -> "ReadRegion":
        """The region of a commit that read a table in this state."""
        names = state.metadata.partition_columns
        predicates = (ALWAYS,) if reads.whole_table else reads.predicates
        filters = {predicate: partition_only(predicate, names) for predicate in predicates}
        return cls(filters, state.partition_column_types, state.physical_paths if names else SAME_NAMES)

    def filter_covering(self, values: PartitionValues) -> Predicate | None:
        """The first filter that may match rows of a file with these partition values."""
        facts = FileFacts.from_partition(values, self.partition_types, self.physical_paths)
        return next((given for given, relaxed in self.filters.items() if may_match(relaxed, facts)), None)
