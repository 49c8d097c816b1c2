/**
 * The format of the change logs. An entry is the text of its changeset and nothing else, because users
 * read the text and not the hash of a commit. The packages have the same version, so one line replaces the
 * list of updated dependencies, which had one line for each changeset.
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
