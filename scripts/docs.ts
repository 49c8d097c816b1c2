// Builds the documentation site and serves it. With --build, it only builds:
//   npm run docs -- [--build]
// The generator has its own folder and lock file. The first run installs it, so npm ci stays fast.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { preview } from 'vite';

const run = (...command: readonly [string, ...string[]]) => {
  const [program, ...args] = command;
  const { status } = spawnSync(program, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

const unknown = process.argv.slice(2).find((word) => word !== '--build');
if (unknown !== undefined) throw new Error(`Unknown option ${unknown}. Use --build, or nothing`);

if (!existsSync('docs/site/node_modules/typedoc')) run('npm', 'ci', '--prefix', 'docs/site');
run(process.execPath, 'docs/site/build.ts');
if (process.argv.includes('--build')) {
  console.log('Open docs/site/dist/index.html in a browser.');
} else {
  const server = await preview({
    root: 'docs/site',
    build: { outDir: 'dist' },
    preview: { port: 4173 },
  });
  server.printUrls();
}
