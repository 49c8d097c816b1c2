/** The languages that are known, each with the other names people give it. */
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

/** Languages that stand inside of others. */
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

/** `shell` is the name of a grammar for sessions; people mean scripts. */
const preferredGrammar: ReadonlyMap<string, string> = new Map([['shell', 'bash']]);

/** The language that an info string like `ts title=x` names, if it is one of those known. */
export function languageOf(info: string): string | undefined {
  const [name = ''] = /^[\w#+.-]+/.exec(info.toLowerCase().replace(/^\{?\.?/, '')) ?? [];
  return preferredGrammar.get(name) ?? byName.get(name);
}

/** What has to be loaded for a language. */
export function grammarsOf(language: string): readonly string[] {
  return [...(embeddedLanguages[language] ?? []), language];
}
