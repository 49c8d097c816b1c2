/** What is in a folder, as `ls` tells it. */
export interface FolderListing {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

const fileLine = /^(.+?) {2}\d[\d.]* (?:bytes?|[kMGT]B)$/;

export function readListing(text: string): FolderListing {
  const lines = text.split('\n');
  return {
    folders: lines.filter((line) => line.endsWith('/')).map((line) => line.slice(0, -1)),
    files: lines.flatMap((line) => fileLine.exec(line)?.[1] ?? []),
  };
}

/** What says most about a folder comes first. */
const wanted: readonly RegExp[] = [
  /^readme(?:\.|$)/i,
  /^(?:package\.json|cargo\.toml|pyproject\.toml|go\.mod|makefile|gemfile|pom\.xml)$/i,
  /\.(?:md|txt|rst|adoc)$/i,
  /\.(?:[cm]?[jt]sx?|py|rs|go|rb|java|kt|swift|c|h|cc|cpp|cs|php|sh|html|css|json|ya?ml|toml)$/i,
];

/** Nobody wants to see these on a screen. */
const unwanted = /^\.|lock|secret|credential|password|token|\.(?:pem|key|env)$/i;

/** The files to read of those that are there, the most telling ones first. */
export function tellingFiles(files: readonly string[], most: number): readonly string[] {
  const rank = (name: string) => wanted.findIndex((form) => form.test(name));
  return files
    .filter((name) => rank(name) !== -1 && !unwanted.test(name))
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, most);
}

/** The folder to look into, if there is one of interest. */
export function tellingFolder(folders: readonly string[]): string | undefined {
  const usual = ['src', 'lib', 'packages', 'app', 'docs'];
  const named = usual.find((name) => folders.includes(name));
  const isPlain = (name: string) =>
    !/^\.|^(?:node_modules|target|dist|build|vendor|venv)$/.test(name);
  return named ?? folders.find(isPlain);
}
