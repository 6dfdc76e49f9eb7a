"""Sizes of the protocol. Bytes unless named otherwise.

sandbox/profile.json repeats the line limit and the depth for the parent. The parent sends at most the number of
requests in a batch that is accepted here. A test compares them.
"""

API_VERSION = 1
REQUEST_FD = 3
RESPONSE_FD = 4

LINE_BYTES = 1 << 20
RESULT_BYTES = 1 << 18
OBSERVATION_CHARS = 1 << 16
LOG_BYTES = 1 << 18
MESSAGE_CHARS = 2000
MAX_EPISODES = 4096
MAX_STEPS = 1000
MAX_CALLS = 64
MAX_BATCH = 1024
MAX_TOOLS = 128
MAX_NAME_CHARS = 200
MAX_TAGS = 64
TRACEBACK_FRAMES = 8
MAX_SEED = 2**53
MAX_DEPTH = 64
