import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The agents are on another port. The proxy makes them a part of the same site. */
const target = `http://127.0.0.1:${process.env['AGENTS_PORT'] ?? 5003}`;
const proxy = { '^/(agents|tasks|spans)': { target, changeOrigin: false } };

/** Serves the elements as a separate file, for pages that use no bundler. */
function elements(): Plugin {
  const file = fileURLToPath(import.meta.resolve('@millrace/react/elements'));
  return {
    name: 'elements',
    configureServer({ middlewares }) {
      middlewares.use('/elements.js', (_request, response) => {
        response.setHeader('content-type', 'text/javascript').end(readFileSync(file));
      });
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'elements.js', source: readFileSync(file) });
    },
  };
}

const pages = ['react', 'usechat'];

export default defineConfig({
  plugins: [react(), elements()],
  server: { proxy },
  preview: { proxy },
  build: {
    target: 'es2022',
    rolldownOptions: {
      input: pages.map((name) => fileURLToPath(new URL(`${name}.html`, import.meta.url))),
    },
  },
});
