import { isUsualSubsection, otherMachine, partialSettings, quietSettings } from './quiet-config.ts';

/**
 * Harmless sections and settings of a git configuration. They never make git run a program, use the network,
 * or read files outside the repository.
 */
const harmlessSettings: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'core',
    `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks
      autocrlf eol safecrlf abbrev quotepath`.split(/\s+/),
  ],
  ['remote', ['url', 'pushurl', 'fetch', 'tagopt', 'prune', 'gh-resolved']],
  [
    'branch',
    'remote merge rebase pushremote description vscode-merge-base gh-merge-base'.split(' '),
  ],
  ['user', ['name', 'email']],
  ['init', ['defaultbranch']],
  ['pull', ['rebase', 'ff']],
  ['push', ['default', 'autosetupremote']],
  ['color', ['ui']],
]);

/**
 * The settings whose value is an address. The value of the settings in `remoteNames` is the name of a remote.
 */
const addresses: ReadonlySet<string> = new Set(['remote.url', 'remote.pushurl']);
const remoteNames: ReadonlySet<string> = new Set(['branch.remote', 'branch.pushremote']);

/** Matches a setting on one line without spaces around it. Spaces before the value are part of the value. */
const settingLine = /^([a-z][a-z0-9-]*)(?:\s*=([^\\]*))?$/i;

/** Options of `isHarmlessGitConfig`. */
interface ConfigOptions {
  /**
   * True if git may connect to a remote. A local folder as the remote is then a risk, because git runs the
   * hooks of that folder. Default: false.
   */
  readonly connects?: boolean | undefined;
  /** More sections with settings that count as harmless. Default: none. */
  readonly more?: ReadonlyMap<string, readonly string[]> | undefined;
}

/**
 * True if each line of a configuration is a known harmless section or setting. Continued lines and unknown
 * lines are not harmless.
 */
export function isHarmlessGitConfig(
  config: string,
  { connects = false, more }: ConfigOptions = {},
): boolean {
  let section = '';
  let subsection = '';
  let known: readonly string[] | undefined;
  const remotes = new Set(['.']);
  const used = new Set<string>();
  const isHarmless = config.split(/\r?\n/).every((line) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) return true;
    const header = /^\[([a-z]+)(?:\s+"([^"\\]*)")?\]$/i.exec(text);
    if (header !== null) {
      section = (header[1] ?? '').toLowerCase();
      subsection = header[2] ?? '';
      known = settingsOf(section, more);
      if (section === 'remote') used.add(subsection);
      if (header[2] !== undefined && !isUsualSubsection(section, header[2])) return false;
      return known !== undefined;
    }
    const [, key = '', value = ''] =
      settingLine.exec(text)?.map((part) => part?.trimStart() ?? '') ?? [];
    const name = `${section}.${key.toLowerCase()}`;
    if (remoteNames.has(name)) used.add(value);
    if (name === 'remote.url') remotes.add(subsection);
    if (connects && addresses.has(name) && !otherMachine.test(value)) return false;
    return key !== '' && known?.includes(key.toLowerCase()) === true;
  });
  // Git uses the name of a remote as its address if the remote has no address.
  return isHarmless && (!connects || used.isSubsetOf(remotes));
}

function settingsOf(section: string, more: ConfigOptions['more']): readonly string[] | undefined {
  const all = [harmlessSettings.get(section), more?.get(section)].filter(
    (one) => one !== undefined,
  );
  return all.length === 0 ? undefined : all.flat();
}

/** More settings that occur in usual repositories. Their values are names and paths, and no secrets. */
const publicSettings: ReadonlyMap<string, readonly string[]> = new Map([
  ['core', ['hookspath', 'excludesfile', 'attributesfile', 'fsmonitor', 'worktree']],
  ['user', ['signingkey', 'useconfigonly']],
  ['gpg', ['format']],
  ['lfs', ['access', 'locksverify']],
]);

const noSecrets = namesOf([quietSettings, partialSettings]);
for (const [section, keys] of publicSettings)
  noSecrets.set(section, [...(noSecrets.get(section) ?? []), ...keys]);

/** Returns the names of settings by section, without subsections. */
function namesOf(all: readonly (typeof quietSettings)[]): Map<string, readonly string[]> {
  const names = new Map<string, readonly string[]>();
  for (const [name, keys] of all.flatMap((one) => Object.entries(one))) {
    const section = name.replace(' *', '');
    names.set(section, [...(names.get(section) ?? []), ...Object.keys(keys)]);
  }
  return names;
}

/**
 * True if each line of a configuration is a setting that contains no secret. Other settings and comments can contain
 * one, for example `sendemail.smtpPass` or a command with a password.
 */
export function isGitConfigWithoutSecrets(config: string): boolean {
  if (/^\s*[#;]|:\/\/[^\s/]*@|header|token|pass|secret/im.test(config)) return false;
  return isHarmlessGitConfig(config, { more: noSecrets });
}

/** Returns the names of all remotes with an address. The configuration must be harmless. */
export function remotesOf(config: string): ReadonlySet<string> {
  const names = new Set<string>();
  let remote: string | undefined;
  for (const line of config.split(/\r?\n/)) {
    const header = /^\s*\[\s*(\w+)(?:\s+"([^"\\]*)")?\s*\]/.exec(line);
    if (header !== null) remote = header[1]?.toLowerCase() === 'remote' ? header[2] : undefined;
    if (remote !== undefined && /^\s*url\s*=/i.test(line)) names.add(remote);
  }
  return names;
}

/**
 * True if the new configuration adds only harmless settings. Earlier settings may stay, even if they are not
 * known as harmless. A new remote setting is not harmless: it could redirect the user's next `git push` to a
 * different machine.
 */
export function isHarmlessChange(before: string, after: string): boolean {
  if (before === after) return true;
  // The function cannot compare single lines if a line continues on the next line.
  if (/\\\r?$/m.test(before)) return false;
  const others = new Set(linesWithHeaders(before).filter((line) => !isHarmlessGitConfig(line)));
  const lines = linesWithHeaders(after);
  const added = lines.filter((line) => !others.has(line)).join('\n');
  const known = new Set(linesWithHeaders(before));
  if (lines.some((line) => /^\[\s*remote\b/i.test(line) && !known.has(line))) return false;
  // A removed setting is a risk, because it may have disabled something.
  return others.isSubsetOf(new Set(lines)) && isHarmlessGitConfig(added, { connects: true });
}

/** Returns each line together with the header of its section. */
function linesWithHeaders(config: string): readonly string[] {
  let header = '';
  return config.split(/\r?\n/).map((line) => {
    const text = line.trim();
    if (!text.startsWith('[')) return `${header}\n${text}`;
    header = text;
    return `${header}\n`;
  });
}
