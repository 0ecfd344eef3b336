"""What names the packages elsewhere: the MCP registry, Homebrew, Nix, the installer."""

import json

import contents
import wheel
from settings import ROOT

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def server_json(settings):
    """The entry of the MCP registry; it is compared with `mcpName` in the npm package and `mcp-name:` in the wheel's description."""
    mcp = {"packageArguments": [{"type": "positional", "value": "mcp"}], "transport": {"type": "stdio"}}
    entry = {
        "$schema": SCHEMA,
        "name": settings.mcp_name,
        "title": "Toolcrib",
        "description": contents.SUMMARY,
        "version": settings.version,
        **(
            {"repository": {"url": settings.repository, "source": "github"}}
            if settings.publishable
            else {"_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"unpublishable": settings.obstacles}}}
        ),
        "packages": [
            {
                "registryType": "npm",
                "registryBaseUrl": "https://registry.npmjs.org",
                "identifier": settings.names["npm"],
                "version": settings.version,
                "runtimeHint": "npx",
                **mcp,
            },
            {
                "registryType": "pypi",
                "registryBaseUrl": "https://pypi.org",
                "identifier": settings.names["pypi"],
                "version": wheel.normal(settings.version),
                "runtimeHint": "uvx",
                **mcp,
            },
        ],
    }
    return json.dumps(entry, indent=2) + "\n"


def installer(settings, public_key, base_url=None):
    base_url = settings.publisher["base-url"] if base_url is None else base_url
    text = (ROOT / "install.sh").read_text().replace("@BASE_URL@", base_url.rstrip("/"))
    return text.replace("@PUBLIC_KEY@", public_key)


def formula(settings, sums):
    """For Homebrew on Linux; there is no build for macOS yet."""
    parts = []
    for target in settings.targets:
        cpu = "intel" if target.machine == "x86_64" else "arm"
        digest = sums[f"{settings.archive_name(target)}.tar.gz"]
        parts.append(
            f"    on_{cpu} do\n"
            f'      url "{settings.archive_url(target.triple)}"\n'
            f'      sha256 "{digest}"\n'
            "    end\n"
        )
    return f"""\
# Written by release.sh; put it into a tap as Formula/toolcrib.rb. Not run by any test.
class Toolcrib < Formula
  desc "{contents.SUMMARY.rstrip('.')}"
  homepage "{settings.repository}"
  version "{settings.version}"
  license any_of: ["MIT", "Apache-2.0"]
  depends_on :linux
  on_linux do
{''.join(parts)}  end

  def install
    bin.install "toolcrib"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/toolcrib.bash" => "toolcrib"
    zsh_completion.install "completions/_toolcrib"
    fish_completion.install "completions/toolcrib.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/toolcrib --version")
  end
end
"""


def flake(settings, sums):
    systems = "\n".join(
        f'      "{target.machine}-linux" = {{ triple = "{target.triple}"; sha256 = "{sums[settings.archive_name(target) + ".tar.gz"]}"; }};'
        for target in settings.targets
    )
    return f"""\
# Written by release.sh: `nix run .#toolcrib`. Not run by any test.
{{
  description = "{contents.SUMMARY}";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = {{ self, nixpkgs }}: let
    builds = {{
{systems}
    }};
    package = system: build: let
      pkgs = nixpkgs.legacyPackages.${{system}};
    in pkgs.stdenv.mkDerivation {{
      pname = "toolcrib";
      version = "{settings.version}";
      src = pkgs.fetchurl {{
        url = "{settings.archive_url('${build.triple}')}";
        sha256 = build.sha256;
      }};
      nativeBuildInputs = [ pkgs.autoPatchelfHook pkgs.installShellFiles ];
      buildInputs = [ pkgs.stdenv.cc.cc.lib ];
      installPhase = ''
        install -Dm755 toolcrib $out/bin/toolcrib
        installManPage man/*.1
        installShellCompletion --bash completions/toolcrib.bash --zsh completions/_toolcrib --fish completions/toolcrib.fish
      '';
      meta = {{ mainProgram = "toolcrib"; license = with pkgs.lib.licenses; [ mit asl20 ]; platforms = builtins.attrNames builds; }};
    }};
  in {{
    packages = builtins.mapAttrs (system: build: rec {{ toolcrib = package system build; default = toolcrib; }}) builds;
  }};
}}
"""
