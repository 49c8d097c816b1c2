/**
 * The sections and settings of a git configuration that never make git run another program, use the
 * network, or read files outside the repository.
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
 * Further settings of repositories that tools create: clones with submodules or with large files. These
 * settings alone run no program.
 */
const quietSettings: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'core',
    `sparsecheckout sparsecheckoutcone untrackedcache preloadindex commitgraph multipackindex longpaths
      fscache compression bigfilethreshold`.split(/\s+/),
  ],
  ['submodule', ['url', 'active', 'branch', 'shallow', 'fetchjobs']],
  ['extensions', ['objectformat', 'refstorage', 'worktreeconfig']],
  ['lfs', ['repositoryformatversion']],
  ['remote', ['partialclonefilter', 'mirror', 'prunetags']],
  ['commit', ['gpgsign']],
  ['tag', ['gpgsign']],
  ['gc', ['auto', 'autodetach']],
  ['maintenance', ['auto', 'strategy']],
  ['index', ['version', 'sparse', 'threads']],
  ['fetch', ['prune', 'prunetags']],
  ['merge', ['ff', 'conflictstyle', 'renames']],
  ['diff', ['renames', 'algorithm']],
  ['status', ['showuntrackedfiles']],
  ['rebase', ['autosquash', 'autostash']],
  ['rerere', ['enabled', 'autoupdate']],
  ['receive', ['denycurrentbranch', 'denynonfastforwards', 'denydeletes', 'advertiseatomic']],
  ['uploadpack', ['allowfilter', 'allowanysha1inwant', 'allowreachablesha1inwant']],
]);

/**
 * The settings of a clone with a part of the objects. Git connects to its remote when an object is
 * missing, also for `git status` in the repository above.
 */
const partialSettings: ReadonlyMap<string, readonly string[]> = new Map([
  ['extensions', ['partialclone', ...(quietSettings.get('extensions') ?? [])]],
  ['remote', ['promisor', ...(quietSettings.get('remote') ?? [])]],
]);

/**
 * The settings whose value is an address. The settings in `remoteNames` have the name of a remote as
 * their value.
 */
const addresses: ReadonlySet<string> = new Set(['remote.url', 'remote.pushurl']);
const remoteNames: ReadonlySet<string> = new Set(['branch.remote', 'branch.pushremote']);

/**
 * Matches an address of another machine, such as `https://host/a` or `git@host:a`. Any other address may
 * be a local folder. An example is `git@host/a`, which has no colon before its first slash.
 */
const otherMachine =
  /^(?:(?:https?|ssh|git):\/\/[A-Za-z0-9[]|\w[\w.-]*@(?:[A-Za-z0-9][\w.-]*|\[[\dA-Fa-f:.]+\]):)\S*$/;

/** Matches a setting in one line without spaces around it. Spaces before the value belong to the value. */
const settingLine = /^([a-z][a-z0-9-]*)(?:\s*=([^\\]*))?$/i;

/** Options of `isHarmlessGitConfig`. */
interface ConfigOptions {
  /**
   * Whether git may connect to a remote. A local folder is then not harmless, because git runs the
   * hooks of that folder. Default: false.
   */
  readonly connects?: boolean | undefined;
  /** Further sections and their settings that count as harmless. Default: none. */
  readonly more?: ReadonlyMap<string, readonly string[]> | undefined;
}

/**
 * True if each line of a configuration is a known harmless section or setting. A continued or unknown
 * line is not harmless.
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
  // If a remote has no address, git uses the name of the remote as the address.
  return isHarmless && (!connects || used.isSubsetOf(remotes));
}

function settingsOf(section: string, more: ConfigOptions['more']): readonly string[] | undefined {
  const all = [harmlessSettings.get(section), more?.get(section)].filter(
    (one) => one !== undefined,
  );
  return all.length === 0 ? undefined : all.flat();
}

/** Options of `isQuietGitConfig`. */
interface QuietOptions {
  /** Returns whether a worktree in another folder is accepted. */
  readonly isWorktree: (path: string) => boolean;
  /** Whether the repository may connect to its remote for objects that are missing. */
  readonly isPartial: boolean;
}

/**
 * True if a repository with this configuration runs no programs. It assumes that no person has changed
 * the configuration.
 */
export function isQuietGitConfig(config: string, { isWorktree, isPartial }: QuietOptions): boolean {
  const text = config.replaceAll(/^[ \t]*worktree = ([\w.][\w./-]*)$/gm, (line, path: string) =>
    isWorktree(path) ? '' : line,
  );
  const more = isPartial ? new Map([...quietSettings, ...partialSettings]) : quietSettings;
  return isHarmlessGitConfig(text, { more });
}

/** Returns the names of the remotes that have an address. The configuration must be harmless. */
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
 * True if the new configuration adds only harmless settings. Settings that were there before may stay,
 * even if they are not known to be harmless. A new setting of a remote is not harmless: a command that
 * was able to write it could send the next `git push` of the user to another machine.
 */
export function isHarmlessChange(before: string, after: string): boolean {
  if (before === after) return true;
  // A continued line would get another meaning after another line.
  if (/\\\r?$/m.test(before)) return false;
  const others = new Set(linesWithHeaders(before).filter((line) => !isHarmlessGitConfig(line)));
  const lines = linesWithHeaders(after);
  const added = lines.filter((line) => !others.has(line)).join('\n');
  const known = new Set(linesWithHeaders(before));
  if (lines.some((line) => /^\[\s*remote\b/i.test(line) && !known.has(line))) return false;
  // A setting that was removed may have switched something off.
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
