"""Tier: unit. Addresses of reports."""

from __future__ import annotations

import pytest
from whetstone.train.output.reports import report_address


def test_each_job_reports_to_its_own_address() -> None:
    listed = '{"/a": {"url": "http://x/a", "tokenFile": "/t"}, "/b": {"url": "http://x/b"}}'
    environment = {"WHET_REPORTS": listed, "WHET_REPORT_URL": "http://x/one"}
    assert report_address("/a", environment) == ("http://x/a", "/t")
    assert report_address("/b", environment) == ("http://x/b", None)
    assert report_address("/c", environment) == (None, None)
    assert report_address("/a", {"WHET_REPORT_URL": "http://x/one"}) == ("http://x/one", None)
    for broken in ("[]", "{", '{"/a": 3}', '{"/a": {"url": 3}}'):
        with pytest.raises(ValueError):
            report_address("/a", {"WHET_REPORTS": broken})
