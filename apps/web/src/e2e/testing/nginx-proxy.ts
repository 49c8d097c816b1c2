import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../../../../../packages/log/src/testing/external-programs.ts';

const programs = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'];

/** The path of nginx. Undefined if it is not installed. */
export const nginxPath: string | undefined = programs.find((path) => existsSync(path));

/** nginx with TLS in front of a server. */
export interface NginxProxy {
  readonly port: number;
  readonly certificate: string;
  close(): Promise<void>;
}

/**
 * Starts nginx with the configuration of docs/proxy.md. The port, the name and the certificate are
 * changed.
 */
export async function startNginx(serverPort: number, name: string): Promise<NginxProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-nginx-'));
  const port = await freePort();
  createCertificate(folder, name);
  writeFileSync(join(folder, 'nginx.conf'), wholeConfig(folder, { port, serverPort, name }));
  mkdirSync(join(folder, 'logs'));
  const flags = ['-p', folder, '-c', 'nginx.conf', '-e', 'logs/error.log', '-g', 'daemon off;'];
  const child = spawn(nginxPath ?? 'nginx', flags, { stdio: 'ignore' });
  const exit = once(child, 'exit');
  const isOver = exit.then(() => true);
  while (!(await accepts(port))) {
    if (await Promise.race([isOver, wait(20, false)]))
      throw new Error(`nginx did not start: ${readFileSync(join(folder, 'logs/error.log'))}`);
  }
  return {
    port,
    certificate: readFileSync(join(folder, 'tls.pem'), 'utf8'),
    async close() {
      child.kill('SIGTERM');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function createCertificate(folder: string, name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const files = ['-keyout', join(folder, 'tls.key'), '-out', join(folder, 'tls.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '2', ...subject, ...files], {
    stdio: 'ignore',
  });
}

function wholeConfig(
  folder: string,
  { port, serverPort, name }: { port: number; serverPort: number; name: string },
): string {
  const page = readFileSync(new URL('../../../../../docs/proxy.md', import.meta.url), 'utf8');
  const documented = /```nginx\n(.*?)```/s.exec(page)?.[1] ?? '';
  const server = documented
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replaceAll('agents.example.com', name)
    .replace('/etc/nginx/tls/agents.pem', join(folder, 'tls.pem'))
    .replace('/etc/nginx/tls/agents.key', join(folder, 'tls.key'))
    .replace('127.0.0.1:5003', `127.0.0.1:${serverPort}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = temporary.map((what) => `${what}_temp_path ${join(folder, what)};`);
  return `pid ${join(folder, 'nginx.pid')};
events {}
http {
  access_log off;
  ${paths.join('\n  ')}
${server}}
`;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
