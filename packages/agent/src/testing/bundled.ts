import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** The program with all that it needs in one file: what is started a hundred times starts fast. */
export async function bundled(program: URL, folder: string): Promise<string> {
  const conditions = ['@millrace/source'];
  await build({
    configFile: false,
    logLevel: 'error',
    resolve: { conditions },
    ssr: { noExternal: true, resolve: { conditions } },
    build: {
      ssr: fileURLToPath(program),
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'program.mjs' } },
    },
  });
  return join(folder, 'program.mjs');
}
