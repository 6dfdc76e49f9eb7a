"""Tier: unit. Addresses of reports."""

from __future__ import annotations

import pytest
from whetstone.train.output.reports import report_url


def test_each_job_reports_to_its_own_address() -> None:
    environment = {"WHET_REPORTS": '{"/a": "http://x/a", "/b": "http://x/b"}'}
    assert report_url("/a", environment) == "http://x/a"
    assert report_url("/b", environment) == "http://x/b"
    assert report_url("/c", environment) is None
    assert report_url("/a", {}) is None
    for broken in ("[]", "{", '{"/a": 3}', '{"/a": {"url": "http://x/a"}}'):
        with pytest.raises(ValueError):
            report_url("/a", {"WHET_REPORTS": broken})
