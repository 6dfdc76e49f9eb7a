"""LangChain's own request shapes: `python shapes_langchain.py BASE_URL MODEL [BASE_URL MODEL ...]`, as shapes.py."""

import openai
from langchain_openai import ChatOpenAI
from shapes import TOOL, run

ASK = "Please cancel order 1003 for me."


def said(answer):
    calls = [(call["name"], call["args"]) for call in answer.tool_calls]
    return {"content": answer.content, "calls": calls, "usage": answer.usage_metadata}


def streamed(client):
    chunks = list(client.stream(ASK))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return said(whole)


def refusal(client):
    try:
        client.invoke(ASK)
    except openai.NotFoundError as error:
        return [error.status_code, error.code]
    return None


def shapes(base_url, model):
    def client(name=model, **more):
        return ChatOpenAI(
            model=name,
            base_url=base_url,
            api_key="none",
            max_retries=0,
            seed=3,
            max_tokens=40,
            stream_usage=True,
            **more,
        )

    choice = {"structured_outputs": {"choice": ["yes", "no"]}}
    return {
        "chat": said(client().invoke(ASK)),
        "tools": said(client().bind_tools([TOOL]).invoke(ASK)),
        "stream": streamed(client()),
        "structured": said(client(extra_body=choice).invoke(ASK)),
        "refusal": refusal(client(name="nobody")),
    }


if __name__ == "__main__":
    run(shapes)
