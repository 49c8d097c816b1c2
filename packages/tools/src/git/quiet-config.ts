/** The sections of a configuration, with the form of the value of each setting. */
type Settings = Readonly<Record<string, Readonly<Record<string, RegExp>>>>;

/** A truth value, a number or the name of a choice. No setting with such a value can name a program or a file. */
const word = /^[\w-]{1,40}$/;
const anyText = /^/;
const words = (keys: string) => Object.fromEntries(keys.split(/\s+/).map((key) => [key, word]));

/**
 * An address or a path. For an address with `::` or an unknown scheme, git starts a program that is named after
 * the scheme. Git could read a path that begins with `-` as an option, and it removes spaces around a value.
 */
const address =
  /^(?![- \t])(?!.*(?:::|[ \t]$))(?:(?:https?|ssh|git|git\+ssh|ssh\+git|file|ftps?):\/\/.*|(?!\w[\w+.-]*:\/\/).+)$/;

/**
 * A name that git accepts as a part of a reference, without a `-` at its start. Git passes the name of a remote to
 * `git fetch`, which reads a name with `-` at its start as an option.
 */
const refName =
  /^(?![-./])(?!.*(?:\.\.|\/[/.]|@\{|\.lock(?:\/|$)|[./]$))(?:(?![~^:?*[\\"])[!-~\u0080-\uffff])+$/;

/** The forms of the subsections. Git refuses `..` in the name of a submodule, because the name is a path. */
const subsections: Readonly<Record<string, RegExp>> = {
  remote: refName,
  branch: refName,
  submodule: /^(?![- ])(?!(?:.*\/)?\.\.(?:\/|$))(?!.* $)[ -~\u0080-\uffff]+$/,
};

/** True if git itself writes such a subsection, or ignores all subsections of the section, which is in lower case. */
export function isUsualSubsection(section: string, name: string): boolean {
  return !Object.hasOwn(subsections, section) || subsections[section]?.test(name) === true;
}

/**
 * Matches an address on a different machine, such as `https://host/a` or `git@host:a`. An address that does
 * not match may be a local folder. For example, `git@host/a` is a local path, because it has no colon before
 * its first slash.
 */
export const otherMachine: RegExp =
  /^(?:(?:https?|ssh|git):\/\/[A-Za-z0-9[]|\w[\w.-]*@(?:[A-Za-z0-9][\w.-]*|\[[\dA-Fa-f:.]+\]):)\S*$/;

/**
 * All settings that a quiet repository can have. Git itself writes most of them, for example in `git init`, `git
 * clone`, `git remote`, `git branch` and `git submodule`. A section whose name ends with ` *` has a subsection.
 */
export const quietSettings: Settings = {
  core: {
    repositoryformatversion: /^[01]$/,
    ...words(
      `filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
      safecrlf abbrev quotepath sparsecheckout sparsecheckoutcone untrackedcache preloadindex commitgraph
      multipackindex longpaths fscache compression bigfilethreshold`,
    ),
  },
  'remote *': {
    url: address,
    pushurl: address,
    fetch: anyText,
    tagopt: /^--(?:no-)?tags$/,
    'gh-resolved': /^\w[\w./-]*$/,
    ...words('prune prunetags mirror'),
  },
  'branch *': {
    remote: address,
    merge: anyText,
    rebase: word,
    pushremote: address,
    description: anyText,
    'vscode-merge-base': anyText,
    'gh-merge-base': anyText,
  },
  user: { name: anyText, email: anyText },
  init: { defaultbranch: anyText },
  pull: words('rebase ff'),
  push: words('default autosetupremote'),
  color: words('ui'),
  submodule: { active: anyText, fetchjobs: word },
  'submodule *': { url: address, active: word, branch: anyText, shallow: word },
  extensions: {
    objectformat: /^sha(?:1|256)$/,
    refstorage: /^(?:files|reftable)$/,
    worktreeconfig: word,
  },
  advice: words('detachedhead'),
  lfs: words('repositoryformatversion'),
  commit: words('gpgsign'),
  tag: words('gpgsign'),
  gc: words('auto autodetach'),
  maintenance: words('auto strategy'),
  index: words('version sparse threads skiphash'),
  feature: words('manyfiles'),
  fetch: words('prune prunetags'),
  merge: words('ff conflictstyle renames'),
  diff: words('renames algorithm'),
  status: words('showuntrackedfiles'),
  rebase: words('autosquash autostash'),
  rerere: words('enabled autoupdate'),
  receive: words('denycurrentbranch denynonfastforwards denydeletes advertiseatomic'),
  uploadpack: words('allowfilter allowanysha1inwant allowreachablesha1inwant'),
};

/**
 * The settings of a clone that has only a part of the objects. Git connects to the remote when an object is
 * missing. This can happen even in `git status` of the outer repository.
 */
export const partialSettings: Settings = {
  extensions: { partialclone: /^\w[\w./-]*$/ },
  // For git, a remote with a filter is the remote of a partial clone, even without `promisor`.
  'remote *': { promisor: word, partialclonefilter: /^[\w:=.+%/-]+$/, url: otherMachine },
};

/**
 * The extensions of the format of a repository, with the versions of the format for which git writes them. For other
 * versions, git ignores some of them, for example the size of the hashes.
 */
const extensionVersions: ReadonlyMap<string, RegExp> = new Map([
  ['objectformat', /^1$/],
  ['refstorage', /^1$/],
  ['worktreeconfig', /^[01]$/],
  ['partialclone', /^[01]$/],
]);

/** The settings that git writes several times. */
const severalTimes: ReadonlySet<string> = new Set([
  ...['remote *.url', 'remote *.pushurl', 'remote *.fetch', 'branch *.merge', 'submodule.active'],
]);

const settingLine = /^[\t ]*([A-Za-z][A-Za-z0-9-]*) ?= ?(?:([^"\\;#]*)|"([^"\\]*)")$/;

/** Removes quotes and backslashes from a value, in the form in which git writes them. */
function withoutEscapes(line: string): string {
  const start = line.indexOf('=') + 1;
  return line.slice(0, start) + line.slice(start).replaceAll(/\\["\\]/g, '');
}

/** Other code reads at most 20,000 settings of a configuration. */
const maxLines = 10_000;

/** Returns the form of a setting. The names are text of an attacker, such as `constructor`. */
function formIn(all: Settings, section: string, key: string): RegExp | undefined {
  const settings = Object.hasOwn(all, section) ? all[section] : undefined;
  return settings !== undefined && Object.hasOwn(settings, key) ? settings[key] : undefined;
}

/** Options of `isQuietGitConfig`. */
interface QuietOptions {
  /** Returns true if the configuration may use this folder as its worktree. */
  readonly isWorktree: (path: string) => boolean;
  /** True if the repository may connect to its remote for missing objects. */
  readonly isPartial: boolean;
}

/**
 * True if a repository with this configuration runs no programs. It assumes that no user has changed the
 * configuration.
 *
 * The function accepts only the form in which git writes settings. Git and this function could read any other form
 * differently, for example a carriage return, a continued line or a setting that occurs twice.
 *
 * @param config - The bytes of the configuration, decoded as `latin1`.
 */
export function isQuietGitConfig(config: string, { isWorktree, isPartial }: QuietOptions): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git reads some of them as spaces or as the end
  if (/[\x00-\x08\x0b-\x1f\x7f]/.test(config)) return false;
  const lines = config.split('\n');
  if (lines.length > maxLines) return false;
  const usesParts =
    isPartial && /^\t(?:promisor|partialclone|partialclonefilter) = /im.test(config);
  const formOf = (section: string, key: string) =>
    (usesParts ? formIn(partialSettings, section, key) : undefined) ??
    formIn(quietSettings, section, key);
  const seen = new Set<string>();
  let section = '';
  let subsection: string | undefined;
  let formatVersion = '';
  const extensions: string[] = [];
  const isQuiet = lines.every((line) => {
    if (/^[\t ]*(?:[#;].*)?$/.test(line)) return true;
    const header = /^\[([A-Za-z]+)(?: "([^"\\]*)")?\]$/.exec(line);
    if (header !== null) {
      subsection = header[2];
      const name = (header[1] ?? '').toLowerCase();
      section = subsection === undefined ? name : `${name} *`;
      if (subsection !== undefined && !isUsualSubsection(name, subsection)) return false;
      return Object.hasOwn(quietSettings, section);
    }
    const [, name = '', plain, quoted] = settingLine.exec(withoutEscapes(line)) ?? [];
    const value = plain ?? quoted ?? '';
    const key = name.toLowerCase();
    const id = `${section}.${key}`;
    const place = `${section}.${key} ${subsection ?? ''}`;
    if (seen.has(place) && !severalTimes.has(id)) return false;
    seen.add(place);
    if (id === 'core.repositoryformatversion') formatVersion = value;
    if (section === 'extensions') extensions.push(key);
    if (id === 'core.worktree')
      return !line.includes('\\') && /^[\w.][\w./-]*$/.test(value) && isWorktree(value);
    const form = formOf(section, key);
    // An escaped character must not be part of an address, a path or the name of a choice.
    return form?.test(value) === true && (form === anyText || !line.includes('\\'));
  });
  return isQuiet && extensions.every((key) => extensionVersions.get(key)?.test(formatVersion));
}
