/** A Markdown file with its front matter. */
export interface MarkdownFile {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text after the front matter. */
  readonly text: string;
}

/**
 * Maximum length of front matter. Millrace reads the files of a project before the user trusts it, and
 * parsing long YAML would block the start.
 */
const maxYamlLength = 16_384;

const frontMatter = /^---[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?---[ \t]*(?:\r?\n|$)/;

/**
 * Splits a Markdown file into its YAML front matter and its text. Many published files are not valid
 * YAML, for example if a description contains a colon. Such front matter is read line by line. Only the
 * first 16 KiB are read.
 */
export async function parseMarkdownFile(content: string): Promise<MarkdownFile> {
  const source = content.replace(/^\uFEFF/, '');
  const [whole = '', yaml = ''] = frontMatter.exec(source) ?? [];
  const text = source.slice(whole.length).trim();
  if (yaml.trim() === '') return { fields: {}, text };
  const read = yaml.slice(0, maxYamlLength);
  return { fields: (read === yaml && (await parseYaml(yaml))) || parseLines(read), text };
}

async function parseYaml(yaml: string): Promise<MarkdownFile['fields'] | undefined> {
  // The module is loaded on demand, because most projects have no such files.
  const { parse } = await import('yaml');
  try {
    const value: unknown = parse(yaml, { maxAliasCount: 0, uniqueKeys: false, logLevel: 'error' });
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap ? (value as MarkdownFile['fields']) : undefined;
  } catch {
    return undefined;
  }
}

function parseLines(yaml: string): MarkdownFile['fields'] {
  const pairs = yaml.split(/\r?\n/).flatMap((line) => {
    const [, key, value = ''] = /^([A-Za-z][\w-]*):(.*)$/s.exec(line) ?? [];
    return key === undefined ? [] : [[key, value.trim().replace(/^(["'])(.*)\1$/, '$2')] as const];
  });
  return Object.fromEntries(pairs);
}

/** Returns a field as one line of text. Returns undefined if it is missing, empty or not a text. */
export function lineOf(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = value.replace(/\s+/g, ' ').trim();
  if (line === '') return undefined;
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Returns a field as a list of names. YAML lists and texts such as `Read, Grep` are accepted. */
export function listOf(value: unknown): readonly string[] | undefined {
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string');
  if (typeof value !== 'string') return undefined;
  // A comma in parentheses belongs to a pattern, as in `Bash(git add:*, git push:*)`.
  return value
    .split(/,(?![^(]*\))/)
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
