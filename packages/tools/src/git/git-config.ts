/**
 * Sections of a git configuration and their settings that never make git run another program, use
 * the network, or read files outside the repository.
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

/** Settings whose value is an address, or the name of a remote. */
const addresses: ReadonlySet<string> = new Set(['remote.url', 'remote.pushurl']);
const remoteNames: ReadonlySet<string> = new Set(['branch.remote', 'branch.pushremote']);

/** An address of another machine: `https://host/a`, `git@host:a`. All others may be local folders. */
const otherMachine = /^(?:(?:https?|ssh|git):\/\/|[\w.-]+@)[A-Za-z0-9[]\S*$/;

/** Options of `isHarmlessGitConfig`. */
interface ConfigOptions {
  /**
   * Whether git may connect to a remote. A local folder is then not harmless, because git runs the
   * hooks of that folder. Default: false.
   */
  readonly connects?: boolean | undefined;
}

/**
 * Whether each line of a configuration is a known section or setting. A continued or unknown line
 * is not harmless.
 */
export function isHarmlessGitConfig(
  config: string,
  { connects = false }: ConfigOptions = {},
): boolean {
  let [section, known]: [string, readonly string[] | undefined] = ['', undefined];
  const remotes = new Set(['.']);
  const used = new Set<string>();
  const isHarmless = config.split(/\r?\n/).every((line) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) return true;
    const header = /^\[([a-z]+)(?:\s+"([^"\\]*)")?\]$/i.exec(text);
    if (header !== null) {
      section = (header[1] ?? '').toLowerCase();
      known = harmlessSettings.get(section);
      if (section === 'remote') remotes.add(header[2] ?? '');
      return known !== undefined;
    }
    const [, key = '', value = ''] =
      /^([a-z][a-z0-9-]*)(?:\s*=\s*([^\\]*))?$/i.exec(text)?.map((part) => part ?? '') ?? [];
    const name = `${section}.${key.toLowerCase()}`;
    if (remoteNames.has(name)) used.add(value);
    if (connects && addresses.has(name) && !otherMachine.test(value)) return false;
    return key !== '' && known?.includes(key.toLowerCase()) === true;
  });
  // Git takes the name of an unknown remote for an address.
  return isHarmless && (!connects || used.isSubsetOf(remotes));
}
