"""An application that talks to its agent through the gateway, and says how the conversation went."""

import os
import uuid

from openai import OpenAI

conversation = str(uuid.uuid4())
client = OpenAI(
    base_url=os.environ.get("GATEWAY", "http://127.0.0.1:8400/v1"),
    api_key=os.environ.get("GATEWAY_KEY", "none"),
    default_headers={"x-whet-conversation": conversation},
)
# The model is the agent's name: the gateway chooses an adapter or the base model.
answer = client.chat.completions.with_raw_response.create(
    model=os.environ.get("AGENT", "parcels"),
    messages=[{"role": "user", "content": "May I return parcel P000001?"}],
)
print("answered by", answer.headers["x-whet-adapter"], "because of", answer.headers["x-whet-route"])
print(answer.parse().choices[0].message.content)

client.post("/outcomes", body={"conversation": conversation, "reward": 1.0}, cast_to=object)
