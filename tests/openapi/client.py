"""Calls a tool through the client that openapi-python-client generated."""

import os
import sys

from toolcrib_client import AuthenticatedClient
from toolcrib_client.api.archives import export_bundle
from toolcrib_client.api.calls import answer, call
from toolcrib_client.api.tools import list_tools
from toolcrib_client.models import Call, CallArgs

client = AuthenticatedClient(base_url=os.environ["TOOLCRIB_SERVER"], token=os.environ["TOOLCRIB_TOKEN"])

page = list_tools.sync(client=client, page_size=2, recommended_page_size=3)
assert len(page.tools) == 2, page

args = CallArgs.from_dict({"path": "hello.txt"})
made = call.sync_detailed(client=client, body=Call(tool="read_file", args=args))
assert made.status_code == 200, made
assert "hello from a file" in made.content.decode(), made.content
assert made.parsed is not None, made

assert callable(answer.sync) and callable(export_bundle.sync)
sys.stdout.write("openapi-python-client: a tool was called\n")
