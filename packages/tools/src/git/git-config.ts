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

/**
 * Whether each line of a configuration is a known section or setting. A continued or unknown line
 * is not harmless.
 */
export function isHarmlessGitConfig(config: string): boolean {
  let known: readonly string[] | undefined;
  return config.split(/\r?\n/).every((line) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) return true;
    const section = /^\[([a-z]+)(?:\s+"[^"\\]*")?\]$/i.exec(text);
    if (section !== null) {
      known = harmlessSettings.get((section[1] ?? '').toLowerCase());
      return known !== undefined;
    }
    const setting = /^([a-z][a-z0-9-]*)(?:\s*=\s*[^\\]*)?$/i.exec(text);
    return setting !== null && known?.includes((setting[1] ?? '').toLowerCase()) === true;
  });
}
