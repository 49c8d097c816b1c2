import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ModelInfo } from '@millrace/providers/models';
import { rowsFromLiteLlm } from '@millrace/providers/models';

/**
 * Writes the table of models that `@millrace/providers` contains. `npm run models` reads LiteLLM's
 * list from its Python package, which pip downloads. `npm run models -- LIST VERSION` reads a file.
 */
const source = { name: 'litellm', version: '1.108.4', license: 'MIT' };
const listPath = 'litellm/model_prices_and_context_window_backup.json';
const licensePath = `litellm-${source.version}.dist-info/licenses/LICENSE`;
const providers = fileURLToPath(new URL('../packages/providers', import.meta.url));

/**
 * The traits file for the models of a vendor. These files are a large part of a small bundle, so
 * each wire loads only the file that it needs. All vendors of `messages` offer the Messages API.
 */
const fileOfVendor: Readonly<Record<string, 'messages' | 'gemini'>> = {
  ...{ anthropic: 'messages', deepseek: 'messages', minimax: 'messages', moonshot: 'messages' },
  ...{ zai: 'messages', gemini: 'gemini' },
};
const fileNames = {
  ...{
    messagesTraits: 'messages-traits',
    geminiTraits: 'gemini-traits',
    otherTraits: 'other-traits',
  },
  pricesText: 'prices',
} as const;

const [listFile, version = source.version] = process.argv.slice(2);
const list = listFile === undefined ? downloadList() : readFileSync(listFile, 'utf8');
const rows = Object.entries(rowsFromLiteLlm(JSON.parse(list)));
const traits = rows.map(([key, { prices: _, ...info }]) => [key, info] as const);
const prices = rows.flatMap(([key, { prices: own }]) =>
  own === undefined ? [] : [[key, { prices: own }] as const],
);
const traitsOf = Map.groupBy(traits, ([key]) => fileOfVendor[key.split('/')[0] ?? ''] ?? 'other');
const abilities = 'Limits and abilities of';
writeData(
  'messagesTraits',
  `${abilities} models of vendors with a Messages API`,
  traitsOf.get('messages'),
);
writeData('geminiTraits', `${abilities} models of Google`, traitsOf.get('gemini'));
writeData('otherTraits', `${abilities} other models`, traitsOf.get('other'));
writeData('pricesText', 'Prices of models', prices);
console.log(`${rows.length} models, ${prices.length} with prices, from ${source.name} ${version}`);

/** Downloads the package and returns its list of models. Also stores the license of the package. */
function downloadList(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-models-'));
  try {
    const wanted = `${source.name}==${source.version}`;
    run('python3', ['-m', 'pip', 'download', '--no-deps', '--quiet', '--dest', folder, wanted]);
    const [wheel] = readdirSync(folder).filter((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip downloaded no wheel of ${wanted}`);
    run('python3', ['-m', 'zipfile', '--extract', join(folder, wheel), folder]);
    const license = readFileSync(join(folder, licensePath), 'utf8').trim();
    const header = `${'='.repeat(72)}\n${source.name} ${source.version} (${source.license})\n`;
    const what = 'The table of models in src/models/data is made from its list of models.';
    const text = `${header}\n${what}\n\n${license}\n${'='.repeat(72)}\n`;
    writeFileSync(join(providers, 'THIRD-PARTY.txt'), text);
    return readFileSync(join(folder, listPath), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

/**
 * Writes the data file. It has one line for each distinct ModelInfo: its JSON, a tab, and the
 * models that have it.
 */
function writeData(
  name: 'messagesTraits' | 'geminiTraits' | 'otherTraits' | 'pricesText',
  what: string,
  entries: readonly (readonly [key: string, info: ModelInfo])[] = [],
): void {
  const groups = Map.groupBy(entries, ([, info]) => JSON.stringify(info));
  const lines = [...groups].map(([info, members]) => {
    const keys = members.map(([key]) => key).join(' ');
    return `${info}\t${keys}`;
  });
  const text = lines.join('\n').replace(/[\\`$]/g, String.raw`\$&`);
  const content = `// Made by scripts/models.ts from ${source.name} ${version} (${source.license}); see THIRD-PARTY.txt.
// Do not edit it. Change src/models/corrections.ts, and run: npm run models

/**
 * ${what}. Each line has a ModelInfo as JSON, a tab, and the
 * names of the models that have it, separated by spaces.
 */
export const ${name}: string = \`
${text}
\`;
`;
  writeFileSync(join(providers, 'src/models/data', `${fileNames[name]}.ts`), content);
}
