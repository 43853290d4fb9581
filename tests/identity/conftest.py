"""The store of the pipeline's tests."""

from tests.pipeline.conftest import store as store
