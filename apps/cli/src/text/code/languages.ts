/** The known languages, each with its other names. */
const aliases: Readonly<Record<string, string>> = {
  bash: 'sh zsh',
  c: 'h',
  cpp: 'c++ cc cxx hpp',
  csharp: 'c# cs',
  css: '',
  diff: 'patch',
  dockerfile: 'docker',
  elixir: 'ex exs',
  go: 'golang',
  graphql: 'gql',
  ini: 'toml cfg conf dotenv env',
  java: '',
  javascript: 'js jsx mjs cjs',
  json: 'jsonc json5 jsonl',
  kotlin: 'kt kts',
  lua: '',
  makefile: 'make mk',
  markdown: 'md mdx',
  perl: 'pl',
  php: '',
  powershell: 'ps1 pwsh',
  protobuf: 'proto',
  python: 'py python3',
  ruby: 'rb',
  rust: 'rs',
  scss: 'sass',
  shell: 'console shellsession',
  sql: 'postgres postgresql mysql sqlite',
  swift: '',
  typescript: 'ts tsx mts cts',
  xml: 'html xhtml svg vue rss',
  yaml: 'yml',
};

/** The names of the grammars that may be loaded. */
export const knownLanguages: readonly string[] = Object.keys(aliases);

/** Languages that can be embedded in other languages. */
const embeddedLanguages: Readonly<Record<string, readonly string[]>> = {
  xml: ['css', 'javascript'],
  shell: ['bash'],
};

const byName: ReadonlyMap<string, string> = new Map(
  Object.entries(aliases).flatMap(([language, others]) => [
    ...`${language} ${others}`
      .trim()
      .split(' ')
      .map((name) => [name, language] as const),
  ]),
);

/**
 * Grammars that differ from the name that users write. highlight.js uses `shell` for terminal
 * sessions, but users mean scripts.
 */
const preferredGrammar: ReadonlyMap<string, string> = new Map([['shell', 'bash']]);

/**
 * Returns the language of a code block from its info string, such as `ts title=x`. Returns
 * undefined if it is unknown.
 */
export function languageOf(info: string): string | undefined {
  const [name = ''] = /^[\w#+.-]+/.exec(info.toLowerCase().replace(/^\{?\.?/, '')) ?? [];
  return preferredGrammar.get(name) ?? byName.get(name);
}

/** Returns the grammars to load for a language, including embedded languages. */
export function grammarsOf(language: string): readonly string[] {
  return [...(embeddedLanguages[language] ?? []), language];
}
