"""What schemathesis cannot know by itself: how bodies that are ZIP archives are sent, and what some of them look like."""

import io
import zipfile

import schemathesis
from hypothesis import strategies as st


@schemathesis.serializer("application/zip")
def archive(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


def pack(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zip_file:
        for name, content in files.items():
            zip_file.writestr(name, content)
    return packed.getvalue()


NAMES = st.sampled_from(["bundle.json", "tools/a.json", "../a", "/a", "a\\b", "x" * 300])
ARCHIVES = st.dictionaries(NAMES, st.binary(max_size=64), max_size=3).map(pack)
schemathesis.openapi.media_type("application/zip", st.one_of(st.binary(max_size=64), ARCHIVES))
