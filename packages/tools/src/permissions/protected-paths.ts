import { readdirSync } from 'node:fs';
import { compileGlob } from '../workspace/globs/compile-glob.ts';
import { foldName, isAscii } from '../workspace/globs/folded-names.ts';
import { isCutName, withOldNames } from '../workspace/kept-names.ts';
import {
  chainEnds,
  gitSettings,
  isSecretName,
  publicNames,
  secretChains,
  secretFolders,
  setOf,
} from './read-only/secret-names.ts';

/** The reason why a path needs an approval, and the part of the path that causes it. */
export interface Protection {
  /** The part of the path that makes it special, such as `.git` or `.env.local`. */
  readonly segment: string;
  readonly why: 'runs_code' | 'secret';
}

/**
 * Returns the reason why writing a path needs an approval, even if a broad rule allows it. The user may later
 * start a program that executes the file, for example git, a shell, an editor or a package manager.
 */
export function writeProtection(path: string): Protection | undefined {
  const segments = segmentsOf(path);
  const segment =
    segments.find((name) => codeFolders.has(name)) ??
    lastIf(segments, (name) => codeFiles.has(name) || codePatterns.some((one) => one.test(name))) ??
    (isCutName(path) ? segments.at(-1) : undefined) ??
    endOfChain(segments, codeChains);
  return segment === undefined ? undefined : { segment, why: 'runs_code' };
}

/** The spelling of names that programs look up with capital letters. */
const spellings: Readonly<Record<string, string>> = {
  jenkinsfile: 'Jenkinsfile',
  '.rprofile': '.Rprofile',
  '.renviron': '.Renviron',
};
const spelled = (name: string) =>
  spellings[name] ?? name.replace(/^[a-z]+(?=(?:\.\w+)?\.md$)/, (stem) => stem.toUpperCase());
/** The sandbox itself guards these names of git. */
const guardedByGit = /^(?:\.git|git~1|head)$/;

/**
 * Returns the names directly in a folder that a command without an approval must not change or create,
 * because other programs would execute the files. Names that do not exist are included.
 */
export function protectedNames(folder: string): readonly string[] {
  const found = readdirSync(folder);
  // If the first folder of a chain such as `.config/git` does not exist, the sandbox could only guard this whole
  // folder. Such a chain is therefore left out, unless the folder belongs to a code host.
  const isGuarded = (chain: string) =>
    /^\.(?:github|gitea|forgejo)\//.test(chain) || found.includes(chain.replace(/\/.*/, ''));
  const chains = [...codeChains].filter(isGuarded);
  const known = [...codeFolders, ...codeFiles, ...chains].map(spelled);
  return [
    ...new Set([
      ...known.filter((name) => !guardedByGit.test(name.toLowerCase())),
      ...found.filter(isProtectedName),
    ]),
  ];
}

/**
 * True if a command without an approval must not create a file of this name directly in the workspace. Many
 * names match a pattern, such as `a.code-workspace`, so `protectedNames` cannot list them.
 */
export function isProtectedName(name: string): boolean {
  return writeProtection(name) !== undefined && !guardedByGit.test(name.toLowerCase());
}

/**
 * Returns the reason why reading a path needs an approval. Files with these names usually contain secrets.
 */
export function readProtection(path: string): Protection | undefined {
  const segments = segmentsOf(path);
  const isPublic = lastIf(segments, (name) => publicNames.test(name)) !== undefined;
  const segment =
    (isPublic ? undefined : segments.find((name) => secretFolders.has(name))) ??
    lastIf(segments, isSecretName) ??
    (isCutName(path) ? segments.at(-1) : undefined) ??
    lastIf(segments, (name) => segments.includes('.git') && gitSettings.test(name)) ??
    endOfChain(segments, secretChains);
  return segment === undefined ? undefined : { segment, why: 'secret' };
}

/**
 * Returns a function that tests the names of files in one folder. The result is true if `readProtection` of
 * the whole path has a reason.
 */
export function secretNamesIn(folder: string): (name: string) => boolean {
  const segments = segmentsOf(folder);
  const isInSecret = segments.some((name) => secretFolders.has(name));
  const isInGit = segments.includes('.git');
  const isInChain = endOfChain(segments, secretChains) !== undefined;
  const ends = [1, 2].map((length) => segments.slice(-length).join('/'));
  return (given) => {
    if (isInChain) return true;
    if (!isAscii(given)) return readProtection(`${folder}/${given}`) !== undefined;
    if (isCutName(given)) return true;
    const name = withOldNames(given).toLowerCase();
    if ((isInSecret || secretFolders.has(name)) && !publicNames.test(name)) return true;
    if (isSecretName(name)) return true;
    if ((isInGit || name === '.git') && gitSettings.test(name)) return true;
    return chainEnds.has(name) && ends.some((end) => secretChains.has(`${end}/${name}`));
  };
}

/** Names of folders. Programs execute the files in these folders, or use them as settings. */
const codeFolders = setOf(
  `.git git~1 .hg .jj .sl .svn .bzr .pijul _darcs .husky .githooks .git-hooks .lefthook
  .lefthook-local .millrace .claude .codex .cursor .gemini .windsurf .opencode .crush .kiro .roo
  .kilocode .clinerules .continue .trae .amazonq .augment .junie .qwen .factory .goose .agents
  .rovodev .copilot .cline .openhands .zencoder .qoder .codebuddy .warp .vibe .serena .amp .vscode .vs
  .idea .fleet .nova .zed .helix .vim .nvim .emacs.d .doom.d .spacemacs.d .theia .codesandbox .idx
  .gitpod .bsp .metals .lsp .ropeproject .externaltoolbuilders .devcontainer .ipython .jupyter
  .shadowenv.d .cargo .mvn .yarn .bundle .mise .flox .devbox .devenv .direnv .terraform .chef .repo
  .circleci .buildkite .woodpecker .semaphore .tekton .teamcity .harness .builds .ssh .aws .gnupg .kube
  .docker .azure`,
);

/**
 * The names of files that programs execute or use as settings, at any depth. `HEAD` is included, because git
 * treats a folder with a `HEAD` as a repository. Git then runs the programs in its file `config`.
 */
const codeFiles = setOf(
  `head millrace.json .mcp.json opencode.json opencode.jsonc crush.json .crush.json .roomodes
  .kilocodemodes .goosehints .cursorrules .windsurfrules .rules agents.md agents.override.md agent.md
  claude.md claude.local.md gemini.md qwen.md crush.md warp.md .gitmodules .gitconfig .lfsconfig
  .overcommit.yml captainhook.json .rusty-hook.toml prek.toml .arcconfig .reviewboardrc .gclient
  .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv
  .zprofile .zlogin .zlogout .kshrc .mkshrc .yashrc .shrc .shinit .cshrc .tcshrc .login .xonshrc
  config.fish .inputrc .envrc .direnvrc .autoenv .autoenv.zsh .autoenv_leave.zsh .ondirrc .smartcd
  .localrc .rvmrc .vimrc _vimrc _gvimrc _exrc .vimrc.local .lazy.lua .neoconf.json .luarc.json
  .luarc.jsonc .lite_project.lua .kateproject .spacemacs .gitpod.yml .gitpod.yaml .replit .exrc .nvimrc .gvimrc .lvimrc .local.vimrc .nvim.lua .vimspector.json
  .ycm_extra_conf.py .emacs .emacs.el .dir-locals.el .dir-locals-2.el .devcontainer.json .tmux.conf .screenrc .xprofile .xinitrc
  .xsession .pam_environment .gdbinit .gdbearlyinit .lldbinit .pdbrc .pdbrc.py .perldb .byebugrc .rdbgrc
  .rdbgrc.rb jdb.ini .jdbrc .valgrindrc .irbrc .pryrc .rprofile .renviron .ghci .iex.exs .ocamlinit
  .utoprc .octaverc startup.m .erlang .juliarc.jl .psqlrc .sqliterc .duckdbrc .pythonrc .pythonrc.py
  .pythonstartup sitecustomize.py usercustomize.py ipython_config.py pylintrc .pylintrc pylintrc.toml
  .npmrc .yarnrc .yarnrc.yml pnpm-workspace.yaml .corepack.env .gemrc .pnp.cjs .pnp.loader.mjs bunfig.toml .bunfig.toml .pypirc pip.conf pip.ini
  .condarc .netrc .bazelversion .bazeliskrc .buckconfig .buckconfig.local .plzconfig .sbtopts .jvmopts
  .mavenrc rust-toolchain rust-toolchain.toml .tool-versions .asdfrc .prototools .sdkmanrc .rtx.toml
  devbox.json devenv.nix devenv.yaml devenv.local.nix ansible.cfg .ansible.cfg .build.yml .vela.yml
  buildspec.yml .drone.star .drone.jsonnet .cirrus.star .space.kts .onedev-buildspec.yml jenkinsfile`,
);
/**
 * Patterns for files with several spellings: projects of editors, lists of hooks, and jobs of build servers.
 */
const codePatterns = [
  /\.(?:code-workspace|sublime-project)$/,
  /^\.?lefthook(?:-local)?\.(?:ya?ml|toml|json)$/,
  /^\.pre-commit-(?:config|hooks)\.ya?ml$/,
  /^\.(?:husky|lintstaged)rc(?:\.\w+)?$/,
  /^(?:husky|lint-staged)\.config\.\w+$/,
  /^\.?simple-git-hooks\.\w+$/,
  /^\.aider\..*\.ya?ml$/,
  /^\.?mise(?:rc)?(?:\.[\w-]+)?\.toml$/,
  /^\.pnpmfile\.[cm]?js$/,
  /^\.?(?:[\w-]+\.)?bazelrc(?:\.[\w-]+)?$/,
  /^jupyter_\w*config\.(?:py|json)$/,
  /^(?:[\w.-]+_)?profile\.ps1$/,
  /^\.tmux(?:p|inator)\.\w+$/,
  /\.run\.xml$/,
  /^\.?(?:gitlab-ci|travis|drone|woodpecker|cirrus|appveyor)\.ya?ml$/,
  /^(?:azure-pipelines|bitbucket-pipelines|cloudbuild)\.ya?ml$/,
];

/**
 * Ends of paths, such as `.github/workflows`. Programs execute these files and the files in these folders, or
 * use them as settings.
 */
const codeChains = setOf(
  `.github/workflows .github/actions .github/hooks .github/agents .github/prompts .github/instructions
  .github/chatmodes .github/skills .github/extensions .github/copilot .github/copilot-instructions.md
  .github/mcp.json .gitea/workflows .forgejo/workflows .config/fish .config/git .config/nvim
  .config/helix .config/emacs .config/mise .config/nushell .config/powershell .config/go
  .config/millrace .config/autostart .config/systemd .config/environment.d .config/direnv .local/bin
  tools/bazel gradle/wrapper mise/config.toml mise/config.local.toml mise/conf.d`,
);

/**
 * Returns the segments of a path in the form of `foldName`, so a different spelling of the same name is found.
 */
function segmentsOf(path: string): readonly string[] {
  return foldName(withOldNames(path))
    .split('/')
    .filter((segment) => segment !== '');
}

function lastIf(
  segments: readonly string[],
  isSpecial: (name: string) => boolean,
): string | undefined {
  const name = segments.at(-1);
  return name !== undefined && isSpecial(name) ? name : undefined;
}

/** Returns the last segment of the first known sequence that the path contains. */
function endOfChain(segments: readonly string[], chains: ReadonlySet<string>): string | undefined {
  return segments.find((_, at) =>
    [2, 3].some((length) =>
      chains.has(segments.slice(Math.max(0, at + 1 - length), at + 1).join('/')),
    ),
  );
}

/**
 * True if a glob explicitly names the segment. The rule was then written for it. For example, `.git/**` names
 * `.git`, and `.env*` names `.env.local`. A part with only wildcards, such as `**`, names nothing.
 */
export function globNames(glob: string, { segment }: Protection): boolean {
  return glob
    .toLowerCase()
    .split('/')
    .some((part) => /^[\w.*?~-]*[a-z0-9][\w.*?~-]*$/.test(part) && compileGlob(part)(segment));
}
