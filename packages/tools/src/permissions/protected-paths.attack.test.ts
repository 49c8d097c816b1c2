import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { namesProtected } from '../modes/approve-in-mode.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

// A hostile model uses the tools `read` and `write`, which the sandbox does not confine. The user has allowed
// all file changes in the folder.

const rules = [{ tool: 'write', path: '**', decision: 'allow' }] as const;
const lines = (text: string) => text.trim().split(/\s+/);

/** Creates a folder below another one, and returns its path. */
function makeFolder(above: string, name: string): string {
  mkdirSync(join(above, name), { recursive: true });
  return join(above, name);
}

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

test.for(
  lines(`terraform.tfstate.backup terraform.tfstate.1700000000.backup terraform.tfvars.json .dev.vars
    .env~ ..env.swp .env-prod .env_prod prod.env.local serviceAccountKey.json service_account.json
    id_rsa.bak .id_rsa.swp key.pem.bak .npmrc.bak .vault_pass .secrets .secrets/token
    local.settings.json kubeconfig.yaml .bash_history .zsh_history .python_history .node_repl_history
    .git/modules/lib/config .git/modules/a/modules/b/config .git/config.worktree .git/config.lock
    .git/worktrees/a/config.worktree .claude.json .config/rclone/rclone.conf .local/share/millrace/sessions.db`),
)('attack 25: the secret %s is not read unasked', async (path) => {
  const { decision } = await policyRuling(root, ['read', { path }]);
  expect(decision).toBe('ask');
});

test.for(
  lines(`.config/millrace/config.json .config/autostart/a.desktop .config/systemd/user/a.service
    .local/bin/ls .vim/plugin/a.vim .emacs.d/init.el .xprofile .pam_environment .nvim.lua
    .helix/config.toml .aider.conf.yml my.code-workspace .windsurf/rules .opencode/a.json
    .cursorrules`),
)('attack 25: a broad rule does not write %s, which runs code', async (path) => {
  const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
  expect(decision).toBe('ask');
});

// Other agents, git hooks, debuggers, version managers and build servers execute or obey these files.
test.for(
  lines(`opencode.json opencode.jsonc .opencode/plugin/a.js .kiro/hooks/a.json .roo/mcp.json .roomodes
    crush.json .crush.json .crush/a .sl/config .continue/config.yaml .trae/mcp.json .amazonq/a.json
    .augment/a .junie/mcp.json .kilocode/mcp.json .qwen/settings.json .factory/a .goose/a .goosehints
    .clinerules/a.md .aider.model.settings.yml .agents/a .rovodev/a .copilot/a .github/hooks/a.json
    .github/agents/a.md .github/prompts/a.md _darcs/prefs/defaults .pijul/config .bzr/branch.conf
    .lfsconfig lefthook.toml lefthook-local.yml .lefthook.yaml .lefthook/pre-commit/a.sh
    .overcommit.yml .pre-commit-config.yml .pre-commit-hooks.yaml .git-hooks/pre-commit .huskyrc.json
    .lintstagedrc lint-staged.config.js .simple-git-hooks.cjs .devcontainer.json .vs/tasks.vs.json
    .fleet/run.json .nova/a a.sublime-project .vimspector.json .lvimrc .local.vimrc
    .ycm_extra_conf.py .gdbinit .lldbinit .pdbrc .irbrc .pryrc .Rprofile .Renviron .autoenv.zsh
    .mise/config.toml mise.local.toml .config/mise/config.toml .rtx.toml .prototools .sdkmanrc
    .pnp.cjs .pnp.loader.mjs bunfig.toml .bunfig.toml .bundle/config .condarc pip.conf
    .drone.yml .woodpecker.yaml .woodpecker/a.yml .cirrus.yml bitbucket-pipelines.yml .appveyor.yml
    .gitea/workflows/a.yml .forgejo/workflows/a.yml .semaphore/a.yml .gitlab-ci.yaml
    .travis.yaml azure-pipelines.yaml cloudbuild.yaml`),
)('18.77: attack: a broad rule does not write %s, which runs code', async (path) => {
  const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
  expect(decision).toBe('ask');
});

// Interpreters, debuggers, editors, tool managers and other agents execute or obey these files.
test.for(
  lines(`.ghci .iex.exs .ocamlinit .octaverc .erlang .utoprc .dir-locals-2.el .gdbearlyinit .pnpmfile.mjs
    tools/bazel sub/tools/bazel mise/config.toml mise/conf.d/a.toml .theia/tasks.json devbox.json
    .flox/env/manifest.toml CLAUDE.md GEMINI.md sub/claude.md AGENTS.md AGENTS.override.md
    .github/copilot-instructions.md .github/instructions/a.md .github/skills/a/SKILL.md .rules
    .cline/a .openhands/setup.sh .bsp/a.json .ropeproject/config.py pylintrc jupyter_server_config.py
    ipython_config.py sitecustomize.py .pdbrc.py .perldb .rdbgrc .luarc.json .lazy.lua
    .lite_project.lua .reviewboardrc .arcconfig .gclient .repo/repo/main.py .rvmrc .shadowenv.d/a
    .corepack.env pnpm-workspace.yaml user.bazelrc .bazelrc .bazeliskrc gradle/wrapper/a.jar .terraform/a
    .chef/knife.rb ansible.cfg .replit .gitpod.yml .idx/dev.nix .codesandbox/tasks.json devenv.nix
    .run/a.run.xml .tmuxp.yaml Microsoft.PowerShell_profile.ps1 startup.m .tekton/a.yaml .build.yml`),
)('18.115: attack: a broad rule does not write %s, which runs code', async (path) => {
  const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
  expect(decision).toBe('ask');
});

test.for(
  lines(`src/pipeline.yml docs/agents/a.md crush/a.ts package.json Makefile README.md mise/config.ts
    tools/bazel.ts profile.ts src/tools/a.ts rules src/repo/a.ts terraform/main.tf`),
)('18.77: a broad rule writes %s', async (path) => {
  const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
  expect(decision).toBe('allow');
});

// Git treats a folder with HEAD, objects and refs as a repository, and uses the settings in it.
test.for(['HEAD', 'sub/HEAD', 'sub/head'])(
  'attack 39: a broad rule does not write %s, which makes the folder a repository',
  async (path) => {
    const call = ['write', { path, content: 'ref: refs/heads/main\n' }] as const;
    expect((await policyRuling(root, call, { rules })).decision).toBe('ask');
  },
);

describe('in a workspace that is the home folder', () => {
  beforeEach(() => void vi.stubEnv('HOME', root));
  afterEach(() => void vi.unstubAllEnvs());

  test.for(
    lines(
      `bin/ls BIN/ls .npm-global/bin/npm .crontab .oci/config .config/Slack/x .gradle/gradle.properties
      .bashrc.d/a.sh .oh-my-zsh/custom/a.zsh .config/emacs/init.el .config/jj/config.toml
      .local/lib/python3.12/site-packages/a.pth .config/Code/User/tasks.json .wezterm.lua .hgrc`,
    ),
  )('attack 25: a broad rule does not write %s', async (path) => {
    const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
    expect(decision).toBe('ask');
  });

  test.for(
    lines(
      `.local/share/bash-completion/completions/git .pyenv/shims/python3 .rbenv/shims/ruby .xsessionrc
      .config/alacritty/alacritty.toml .config/pip/pip.conf .config/lazygit/config.yml .node_modules/x.js
      .node_libraries/x.js .bash_completion .asdf/shims/node .config/starship.toml .mailcap`,
    ),
  )('18.201: attack: a broad rule does not write %s', async (path) => {
    const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
    expect(decision).toBe('ask');
  });

  test.for(lines('.oci/config .config/Slack/x .mozilla/firefox/logins.json .terraform.d/x'))(
    'attack 25: %s is not read unasked',
    async (path) => {
      const { decision } = await policyRuling(root, ['read', { path }]);
      expect(decision).toBe('ask');
    },
  );

  test('a rule that names the place allows it', async () => {
    const named = [{ tool: 'write', path: 'bin/**', decision: 'allow' }] as const;
    const call = ['write', { path: 'bin/ls', content: '' }] as const;
    expect((await policyRuling(root, call, { rules: named })).decision).toBe('allow');
  });
});

describe.for(['.config', '.local/share', '.config/millrace', '.config/millrace/extensions'])(
  'in the folder %s of the home folder',
  (workspace) => {
    beforeEach(() => void vi.stubEnv('HOME', root));
    afterEach(() => void vi.unstubAllEnvs());
    const inside = workspace.includes('millrace') ? '' : 'millrace/';

    test.for(['keys.json', 'old.txt', 'sessions.db'])(
      '18.289: attack: the model reads %s of the agent without a question',
      async (name) => {
        const folder = makeFolder(root, workspace);
        const { decision } = await policyRuling(folder, ['read', { path: `${inside}${name}` }]);
        expect(decision).toBe('ask');
      },
    );

    test.for(['hooks.json', 'config.json', 'plugins.json', 'extensions/a.mjs', 'new.mjs'])(
      '18.289: attack: a broad rule writes %s of the agent',
      async (name) => {
        const call = ['write', { path: `${inside}${name}`, content: '' }] as const;
        const folder = makeFolder(root, workspace);
        expect((await policyRuling(folder, call, { rules })).decision).toBe('ask');
        expect(namesProtected(`cp a ${inside}${name}`, folder)).toBe(true);
      },
    );

    test('other files of the folder need no question', async () => {
      const folder = makeFolder(root, '.config');
      expect((await policyRuling(folder, ['read', { path: 'app/a.toml' }])).decision).toBe('allow');
    });
  },
);

test.for(['bin/tool.js', 'src/bin/a.ts', '.oci/config'])(
  'in another folder, a broad rule writes %s',
  async (path) => {
    const { decision } = await policyRuling(root, ['write', { path, content: '' }], { rules });
    expect(decision).toBe('allow');
  },
);

test.for([
  'src/config.env.ts',
  'service-account.ts',
  'notes.old',
  'id_rsa.pub.bak',
  '.env.example~',
])('%s is read without a question', async (path) => {
  expect((await policyRuling(root, ['read', { path }])).decision).toBe('allow');
});
