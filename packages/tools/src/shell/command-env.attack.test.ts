import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { bashTool } from './bash-tool.ts';

// Variables that contain keys, although neither their names nor their values have a known form.
test.for([
  ['OTEL_EXPORTER_OTLP_HEADERS', 'x-honeycomb-team=hush-hush'],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'api=hush-hush'],
  ['APP_DB', 'Server=db;User=sa;Pwd=hush-hush;'],
  ['SQLALCHEMY_DATABASE', 'host=db user=me password=hush-hush'],
  ['SERVICE_DSN', 'https://hush-hush@o1.ingest.example/2'],
  ['MY_LICENSE', 'hush-hush'],
  ['HTTPS_PROXY', 'http://me:hush-hush@proxy.example:8080'],
  ['SSH_AUTH_SOCK', '/tmp/hush-hush'],
  ['BASH_ENV', 'hush-hush'],
  ['GIT_SSH_COMMAND', 'hush-hush'],
] as const)('attack 14: a command does not get $0 of the agent', async ([name, value]) => {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
  const bash = bashTool({ workspace: { root: temporaryFolder() } });
  const { text } = await runTool(bash, { command: 'env; cat /proc/$$/environ | tr "\\0" "\\n"' });
  expect(text).toContain('PATH=');
  expect(text).not.toContain('hush-hush');
});
