import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { builtPage } from '../../../apps/web/src/e2e/testing/built-page.ts';
import { processFolder } from '../../../scripts/process-folder.ts';

export interface BuiltPages {
  readonly ours: string;
  readonly useChat: string;
}

/** Builds both pages for production. */
export async function buildPages(): Promise<BuiltPages> {
  const useChat = processFolder('use-chat-page');
  await build({
    root: fileURLToPath(new URL('../peers/use-chat-page', import.meta.url)),
    mode: 'production',
    logLevel: 'error',
    // The hook depends on its own copy of `ai`. Without this option, the page would contain two
    // copies.
    resolve: { dedupe: ['ai', 'react', 'react-dom'] },
    build: { outDir: useChat, emptyOutDir: true, modulePreload: { polyfill: false } },
  });
  return { ours: builtPage(), useChat };
}
