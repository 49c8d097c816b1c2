import { compileGlob } from '../workspace/compile-glob.ts';

/** Why a path needs a question, and the part of it that is the reason. */
export interface Protection {
  /** The segment that makes the path special: `.git`, `.env.local`. */
  readonly segment: string;
  readonly why: 'runs_code' | 'secret';
}

/**
 * Returns why writing a path needs a question although a broad rule allows it: a program that the
 * user runs later, such as git, a shell, an editor or a package manager, would run what is written.
 */
export function writeProtection(path: string): Protection | undefined {
  const segments = segmentsOf(path);
  const segment =
    segments.find((name) => codeFolders.has(name)) ??
    lastIf(segments, (name) => codeFiles.has(name)) ??
    pairOf(segments, codePairs);
  return segment === undefined ? undefined : { segment, why: 'runs_code' };
}

/** Returns why reading a path needs a question: its name is one that usually holds secrets. */
export function readProtection(path: string): Protection | undefined {
  const segments = segmentsOf(path);
  const isPublic = lastIf(segments, (name) => publicNames.test(name)) !== undefined;
  const segment =
    (isPublic ? undefined : segments.find((name) => secretFolders.has(name))) ??
    lastIf(segments, isSecretName) ??
    pairOf(segments, secretPairs);
  return segment === undefined ? undefined : { segment, why: 'secret' };
}

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/));

/** Folders whose content programs run or obey, at any depth. */
const codeFolders = setOf(
  `.git git~1 .hg .jj .svn .millrace .claude .codex .cursor .gemini .husky .githooks .vscode .idea
  .zed .devcontainer .cargo .mvn .yarn .circleci .buildkite .ssh .aws .gnupg .kube .docker .azure`,
);

/** Files that programs run or obey, at any depth. */
const codeFiles = setOf(
  `millrace.json .mcp.json .gitmodules .gitconfig .bashrc .bash_profile .bash_login .bash_logout
  .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login
  config.fish .inputrc .envrc .vimrc .exrc .nvimrc .gvimrc .emacs .dir-locals.el .tmux.conf .npmrc
  .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc .netrc .bazelrc rust-toolchain rust-toolchain.toml
  .tool-versions .mise.toml mise.toml .pre-commit-config.yaml lefthook.yml lefthook.yaml
  .gitlab-ci.yml .travis.yml azure-pipelines.yml jenkinsfile`,
);

/** A folder and an entry in it, at any depth. */
const codePairs = setOf('.github/workflows .github/actions .config/fish .config/git .config/nvim');

const secretFolders = setOf('.aws .ssh .gnupg .kube .docker .azure .password-store');
const secretPairs = setOf(
  '.git/config .config/gcloud .config/gh .cargo/credentials .m2/settings.xml',
);
const secretFiles = setOf(
  `.env .envrc .npmrc .pypirc .netrc _netrc .pgpass .my.cnf .mylogin.cnf .htpasswd .git-credentials
  .dockercfg .s3cfg .boto .vault-token .terraformrc kubeconfig credentials credentials.json
  credentials.yml credentials.yaml credentials.toml credentials.ini credentials.csv
  .credentials.json secrets.json secrets.yml secrets.yaml secrets.toml secret.json secret.yml
  secret.yaml master.key service-account.json`,
);
const secretEndings =
  /(?:^\.env\.|\.env$|\.pem$|\.key$|\.p12$|\.pfx$|\.jks$|\.keystore$|\.kdbx$|\.ppk$|\.tfvars$|\.tfstate$)/;
/** Private keys have no file extension. */
const privateKeyName = /^id_[a-z0-9_-]+$/;
const clientSecretName = /^client_secret.*\.json$/;
const exampleName = /(?:^|[._-])(?:example|sample|template|dist|defaults)(?:$|[._-])/;
/** Names that are public also in a folder of secrets. */
const publicNames = /\.pub$|^known_hosts$/;

function isSecretName(name: string): boolean {
  if (publicNames.test(name) || exampleName.test(name)) return false;
  return (
    secretFiles.has(name) ||
    [secretEndings, privateKeyName, clientSecretName].some((pattern) => pattern.test(name))
  );
}

/**
 * Some file systems ignore letter case, and some ignore invisible characters. Both are left out, so
 * that no other spelling of a name escapes.
 */
function segmentsOf(path: string): readonly string[] {
  return (
    path
      .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
      // First to capitals, because some letters have several small forms.
      .toUpperCase()
      .toLowerCase()
      .split('/')
      .filter((segment) => segment !== '')
  );
}

function lastIf(
  segments: readonly string[],
  isSpecial: (name: string) => boolean,
): string | undefined {
  const name = segments.at(-1);
  return name !== undefined && isSpecial(name) ? name : undefined;
}

function pairOf(segments: readonly string[], pairs: ReadonlySet<string>): string | undefined {
  return segments.find((name, at) => pairs.has(`${segments[at - 1]}/${name}`));
}

/**
 * Whether a glob names a segment, so that the rule was written for it: `.git/**` names `.git`, and
 * `.env*` names `.env.local`. A segment of wildcards only, such as `**`, names nothing.
 */
export function globNames(glob: string, { segment }: Protection): boolean {
  return glob
    .toLowerCase()
    .split('/')
    .some((part) => /^[\w.*?~-]*[a-z0-9][\w.*?~-]*$/.test(part) && compileGlob(part)(segment));
}
