/**
 * The format of the change logs. An entry contains only the text of its changeset and no commit
 * hash, because users do not need the hash. All packages have the same version. So one line
 * replaces the list of updated dependencies, which had one line for each changeset.
 */
export default { getReleaseLine, getDependencyReleaseLine };

interface Changeset {
  readonly summary: string;
}

interface DependencyRelease {
  readonly newVersion: string;
}

/** Returns the text of a changeset as an item of a list. */
function getReleaseLine({ summary }: Changeset): string {
  const [first = '', ...others] = summary.trim().split('\n');
  const lines = others.map((line) => `  ${line}`.trimEnd());
  return [`- ${first.trim()}`, ...lines].join('\n');
}

/** Returns the line about the other packages of a release. */
function getDependencyReleaseLine(
  _changesets: readonly Changeset[],
  [dependency]: readonly DependencyRelease[],
): string {
  if (dependency === undefined) return '';
  return `- Uses version ${dependency.newVersion} of the other Millrace packages.`;
}
