"""Roles: an endpoint of their own, or the main one."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from core.llm import LLMs
from core.settings import ROLES, Endpoint, LLMSettings, load_settings

MAIN = {"base_url": "http://127.0.0.1:9/v1", "model": "main", "api_key": SecretStr("sk-main"), "max_tokens": 77}


def test_every_role_but_vision_falls_back_to_the_main_endpoint() -> None:
    llms = LLMs(LLMSettings(**MAIN), None)
    found = {llms.of(role) for role in ROLES if role != "vision"}
    assert len(found) == 1 and llms.of("vision") is None
    assert {client and client.model for client in found} == {"main"}


def test_a_role_changes_only_what_it_names() -> None:
    settings = LLMSettings(**MAIN, extract=Endpoint(model="small"))
    extract = settings.of("extract")
    assert (extract.model, extract.base_url, extract.max_tokens) == ("small", MAIN["base_url"], 77)
    assert extract.api_key.get_secret_value() == "sk-main"
    assert settings.of("write").model == "main"


def test_another_server_gets_neither_the_key_nor_the_model_of_the_main_one() -> None:
    there = Endpoint(base_url="http://127.0.0.1:8/v1")
    judge = LLMSettings(**MAIN, extra_body={"think": False}, context_window=9, judge=there).of("judge")
    assert (judge.api_key.get_secret_value(), judge.model, judge.extra_body, judge.context_window) == ("", "", {}, 0)
    assert judge.max_tokens == 77  # what is no secret and no property of a server stays


def test_a_role_can_stand_alone() -> None:
    llms = LLMs(LLMSettings(vision=Endpoint(base_url="http://127.0.0.1:8/v1", model="eyes")), None)
    vision = llms.of("vision")
    assert vision is not None and vision.model == "eyes"
    assert [llms.of(role) for role in ("write", "extract", "judge")] == [None] * 3


def test_roles_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUAERE_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("QUAERE_LLM__MODEL", "large")
    monkeypatch.setenv("QUAERE_LLM__EXTRACT__MODEL", "small")
    monkeypatch.setenv("QUAERE_LLM__EXTRACT__EXTRA_BODY", '{"reasoning_effort": "low"}')
    extract = load_settings().llm.of("extract")
    assert (extract.model, extract.base_url) == ("small", "http://127.0.0.1:9/v1")
    assert extract.extra_body == {"reasoning_effort": "low"}
