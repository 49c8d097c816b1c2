// Creates the skeleton of an extension. Its tests fail until the author has written the code:
//   npm run new -- provider|store|tool|view <name>
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { kinds, type Skeleton, skeletonOf } from './new/skeleton.ts';

const usage = `Usage: npm run new -- ${kinds.join('|')} <name>
The name has lower-case letters, digits and hyphens, for example "acme-chat".`;

const [kind = '', name = '', ...rest] = process.argv.slice(2);
const root = process.env['MILLRACE_NEW_ROOT'] ?? '.';
const skeleton = rest.length > 0 ? undefined : skeletonOf(kind, name);

if (skeleton === undefined) {
  console.error(usage);
  process.exitCode = 2;
} else create(skeleton);

function create({ files, folder, guide, test, steps }: Skeleton): void {
  if (existsSync(join(root, folder))) {
    console.error(`${folder} exists already. Choose another name, or remove the folder first.`);
    process.exitCode = 1;
    return;
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    console.log(`created ${path}`);
  }
  const list = steps.map((step, index) => `  ${index + 1}. ${step}`).join('\n');
  console.log(`\nNext:\n${list}\nRun the tests:  npx vitest run ${test}\nRead the guide: ${guide}`);
}
