/**
 * The format of the change logs. An entry contains only the text of its changeset. Users do not
 * need the commit hash. All packages have the same version, so one line replaces the list of
 * updated dependencies.
 */
export default { getReleaseLine, getDependencyReleaseLine };

interface Changeset {
  readonly summary: string;
}

interface DependencyRelease {
  readonly newVersion: string;
}

/** Returns the text of a changeset as a list item. */
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
