// Bundles a program of the tests into one file:
//   node scripts/bundle-program.ts <program> <file>
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const [, , input = '', file = ''] = process.argv;

/** Keeps the address of each source file, because programs find other files relative to it. */
const ownAddresses = {
  name: 'own-addresses',
  transform: (code: string, id: string) =>
    code.includes('import.meta.url')
      ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : null,
};

await build({
  input,
  platform: 'node',
  resolve: { conditionNames: ['@millrace/source', 'node', 'default'] },
  plugins: [ownAddresses],
  output: { file, format: 'esm', codeSplitting: false },
  logLevel: 'warn',
});
