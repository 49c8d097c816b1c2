/** A Markdown file with its front matter. */
export interface MarkdownFile {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text after the front matter. */
  readonly text: string;
}

/**
 * Maximum length of front matter. Parsing long YAML takes long: the time grows with the square of the length.
 */
const maxYamlLength = 16_384;
/** Maximum length of the front matter of one file of a project that is parsed as YAML. */
const maxProjectYamlLength = 4096;
/** Maximum length of all front matter of a project that is parsed as YAML. */
const maxProjectYaml = 131_072;

/**
 * The length of front matter that can still be parsed as YAML. Millrace reads the files of a project before the
 * user trusts it, and many files would block the start. Further front matter is read line by line.
 */
export interface YamlBudget {
  left: number;
}

/** Returns the budget for all files of a project. */
export function projectYamlBudget(): YamlBudget {
  return { left: maxProjectYaml };
}

const frontMatter = /^---[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?---[ \t]*(?:\r?\n|$)/;

/**
 * Splits a Markdown file into its YAML front matter and its text. Many published files are not valid
 * YAML, for example if a description contains a colon. Such front matter is read line by line. Only the
 * first 16 KiB are read. `budget` limits the work for the files of a project. Default: no limit.
 */
export async function parseMarkdownFile(
  content: string,
  budget?: YamlBudget,
): Promise<MarkdownFile> {
  const source = content.replace(/^\uFEFF/, '');
  const [whole = '', yaml = ''] = frontMatter.exec(source) ?? [];
  const text = source.slice(whole.length).trim();
  if (yaml.trim() === '') return { fields: {}, text };
  const read = yaml.slice(0, maxYamlLength);
  const isParsed = read === yaml && takeFrom(budget, yaml.length);
  return { fields: (isParsed && (await parseYaml(yaml))) || parseLines(read), text };
}

/** Takes the length from the budget. Returns false if the budget does not allow it. */
function takeFrom(budget: YamlBudget | undefined, length: number): boolean {
  if (budget === undefined) return true;
  if (length > Math.min(maxProjectYamlLength, budget.left)) return false;
  budget.left -= length;
  return true;
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
  const names: string[] = [];
  let start = 0;
  let isInside = false;
  const lastClosing = value.lastIndexOf(')');
  for (const { 0: mark, index } of value.matchAll(/[(),]/g)) {
    if (mark !== ',') isInside = mark === '(' && index < lastClosing;
    else if (!isInside) {
      names.push(value.slice(start, index));
      start = index + 1;
    }
  }
  return [...names, value.slice(start)].map((one) => one.trim()).filter((one) => one !== '');
}
