import { rolldown } from 'rolldown';
import { gzipSync } from 'node:zlib';
import { root } from './packages/published.ts';
import { bundleSize } from './packages/bundle-size.ts';
const provider = process.argv[2] ?? 'anthropic';
const code = `export { createAgent, defineTool } from '@millrace/agent'; export { ${provider} } from '@millrace/providers';`;
const entry = `${root}packages/millrace/src/size-entry.ts`;
const bundle = await rolldown({ input: entry, cwd: root, platform: 'browser', external: [/^node:/],
  resolve: { conditionNames: ['@millrace/source', 'browser', 'import', 'default'] },
  plugins: [{ name: 'e', resolveId: (id, _f, { kind }) => id === entry ? entry : kind === 'dynamic-import' ? { id, external: true } : null, load: (id) => id === entry ? code : null }] });
const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
const mods = Object.entries(output[0].modules).map(([p, m]) => ({ p: p.replace(root, ''), n: (m.code ?? '').length, g: gzipSync((m.code ?? '').replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '').replace(/\n\s+/g, '\n'), { level: 9 }).length }));
mods.sort((a, b) => b.g - a.g);
console.log('total', (await bundleSize(code)).bytes, 'modules', mods.length, 'sum', mods.reduce((s, m) => s + m.g, 0));
for (const m of mods.slice(0, 130)) console.log(m.g, m.n, m.p);
