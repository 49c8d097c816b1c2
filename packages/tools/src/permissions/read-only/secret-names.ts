import { foldName } from '../../workspace/globs/folded-names.ts';

// The names of files and folders that usually contain secrets. All names are in lower case.

/** Returns the set of the words in a text. */
export const setOf = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/));

/**
 * The folders in which version control systems other than git keep copies of files. Some copies are plain text, and
 * their names are hashes.
 */
const versionStores = setOf('.svn .hg .jj .sl .bzr .pijul _darcs');

/** True if a version control system other than git keeps copies of files in a folder with this name. */
export function isVersionStore(name: string): boolean {
  return versionStores.has(foldName(name));
}

/** The folders whose files usually contain secrets. */
export const secretFolders: ReadonlySet<string> = new Set([
  ...setOf('.aws .ssh .gnupg .kube .docker .azure .password-store .secrets'),
  ...versionStores,
]);

/**
 * Matches the settings of git, including copies and the settings of submodules and worktrees. Addresses in
 * these files can contain passwords.
 */
export const gitSettings: RegExp = /^config(?:\W|$)/;
/** Ends of paths of files and folders that usually contain secrets. */
export const secretChains: ReadonlySet<string> = setOf(
  `.git/config .config/gcloud .config/gh .config/rclone .config/millrace .local/share/millrace
  .cargo/credentials .m2/settings.xml`,
);
/** The last names of the chains. */
export const chainEnds: ReadonlySet<string> = new Set(
  [...secretChains].map((chain) => chain.slice(chain.lastIndexOf('/') + 1)),
);
const secretFiles = setOf(
  `.env .envrc .npmrc .pypirc .netrc _netrc .pgpass .my.cnf .mylogin.cnf .htpasswd .git-credentials
  .dockercfg .s3cfg .boto .vault-token .terraformrc kubeconfig credentials credentials.json
  credentials.yml credentials.yaml credentials.toml credentials.ini credentials.csv
  .credentials.json secrets.json secrets.yml secrets.yaml secrets.toml secret.json secret.yml
  secret.yaml master.key .dev.vars .vault_pass .vault_pass.txt .vault-pass local.settings.json
  kubeconfig.yaml kubeconfig.yml .claude.json .zhistory .histfile .lesshst .viminfo`,
);
const secretEndings =
  /(?:^\.env[._-]|\.env$|\.pem$|\.key$|\.p12$|\.pfx$|\.jks$|\.keystore$|\.kdbx$|\.ppk$|\.tfvars(?:\.json)?$|\.tfstate(?:\.\d+)?$)/;
/**
 * Matches names such as `prod.env.local`. It does not match `config.env.ts`, because files with such endings
 * are code.
 */
const environmentName =
  /\.env\.(?:local|dev|development|test|ci|stage|staging|prod|production|secrets?|private)$/;
const serviceAccountName =
  /^service[-_]?accounts?(?:[-_]?keys?)?\.json$|^(?=.*-firebase-adminsdk-).*\.json$/;
const historyName = /^\.[a-z0-9_]+_history$/;
/** Matches an ending that editors and users add to a copy of a file. */
const copyEnding = /(?:~|#|,v|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-p])\d*)$/;
/** Maximum number of endings of one name. Removing thousands of endings would take long. */
const maxCopyEndings = 8;
/** Matches the names of private keys, which have no file extension. */
const privateKeyName = /^id_[a-z0-9_-]+$/;
const clientSecretName = /^client_secret.*\.json$/;
const exampleName = /(?:^|[._-])(?:example|sample|template|dist|defaults)(?:$|[._-])/;
/** Matches the names of public files, which may be in a folder of secrets. */
export const publicNames: RegExp = /\.pub$|^known_hosts$/;

const secretPatterns = [
  ...[secretEndings, environmentName, serviceAccountName, historyName],
  ...[privateKeyName, clientSecretName],
];

/** Matches if one of the patterns matches. One expression is faster than many. */
const anySecretPattern = new RegExp(secretPatterns.map(({ source }) => `(?:${source})`).join('|'));

/** True if a file with this name usually contains secrets. */
export function isSecretName(name: string): boolean {
  const isListed = secretFiles.has(name) || anySecretPattern.test(name);
  if (!isListed && !copyEnding.test(name)) return false;
  if (publicNames.test(name) || exampleName.test(name)) return false;
  const original = withoutCopyEndings(name);
  if (publicNames.test(original) || exampleName.test(original)) return false;
  // An editor keeps a copy of an open file. The name of this copy can start with `.`, `#` or `.#`.
  const names = [name, original, original.replace(/^(?:\.?#|\.)/, '')];
  const isCopy = original !== name;
  return names
    .slice(0, isCopy ? undefined : 1)
    .some((one) => secretFiles.has(one) || anySecretPattern.test(one));
}

function withoutCopyEndings(name: string): string {
  let rest = name;
  for (let left = maxCopyEndings; left > 0 && copyEnding.test(rest); left--)
    rest = rest.replace(copyEnding, '');
  return rest;
}
