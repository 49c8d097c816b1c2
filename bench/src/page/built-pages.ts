import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { builtPage } from '../../../apps/web/src/e2e/testing/built-page.ts';
import { processFolder } from '../../../scripts/process-folder.ts';

/** The folders of the built pages. */
export interface BuiltPages {
  readonly ours: string;
  readonly useChat: string;
  readonly assistantUi: string;
  readonly bare: string;
}

/** Builds all pages for production. */
export async function buildPages(): Promise<BuiltPages> {
  const useChat = await buildPeer('use-chat-page');
  const assistantUi = await buildPeer('assistant-ui-page');
  const bare = await buildPeer('bare-page');
  return { ours: builtPage(), useChat, assistantUi, bare };
}

async function buildPeer(name: string): Promise<string> {
  const outDir = processFolder(name);
  await build({
    root: fileURLToPath(new URL(`../peers/${name}`, import.meta.url)),
    ...{ mode: 'production', logLevel: 'error' },
    // The libraries depend on their own copies of these packages. Without this option, a page would
    // contain two copies.
    resolve: { dedupe: ['ai', '@ai-sdk/react', 'react', 'react-dom'] },
    build: {
      ...{ outDir, emptyOutDir: true, modulePreload: { polyfill: false } },
      chunkSizeWarningLimit: 5_000,
    },
  });
  return outDir;
}
