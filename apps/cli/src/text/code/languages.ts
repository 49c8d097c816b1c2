/** The known languages and their alternative names. */
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

/** The names of all grammars that may be loaded. */
export const knownLanguages: readonly string[] = Object.keys(aliases);

/** The languages that a language can contain. For example, XML can contain CSS. */
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
 * Languages for which the name that users write is not the right grammar. In highlight.js, `shell`
 * means terminal sessions, but users mean scripts.
 */
const preferredGrammar: ReadonlyMap<string, string> = new Map([['shell', 'bash']]);

/**
 * Returns the language in the info string of a code block, such as `ts title=x`. Returns undefined
 * if the language is unknown.
 */
export function languageOf(info: string): string | undefined {
  const [name = ''] = /^[\w#+.-]+/.exec(info.toLowerCase().replace(/^\{?\.?/, '')) ?? [];
  return preferredGrammar.get(name) ?? byName.get(name);
}

/** Returns the grammars to load for a language. They include grammars of embedded languages. */
export function grammarsOf(language: string): readonly string[] {
  return [...(embeddedLanguages[language] ?? []), language];
}
