import { isInside } from '../../workspace/match-path.ts';

/** The folders of the system that the closed view of Linux shows. */
export const systemFolders: readonly string[] = [
  'bin',
  'gnu',
  'lib',
  'lib32',
  'lib64',
  'libx32',
  'nix',
  'opt',
  'sbin',
  'usr',
].map((name) => `/${name}`);

/** The settings that programs need to start, to format dates and to show user names. */
export const systemSettings: readonly string[] = [
  ...['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'locale.alias'],
  ...['passwd', 'group', 'nsswitch.conf', 'os-release', 'timezone', 'magic', 'java'],
].map((name) => `/etc/${name}`);

/** The folders that the closed view of macOS hides. The workspace stays visible. */
export const personalFolders: readonly string[] = [
  '/Users',
  '/Volumes',
  '/private/var',
  '/private/tmp',
  '/private/etc',
];

/** True if the closed view shows a real path outside of the workspace, or a path below it. */
export function isInClosedView(path: string): boolean {
  if (process.platform === 'darwin')
    return !personalFolders.some((folder) => isInside(folder, path));
  return [...systemFolders, ...systemSettings].some(
    (place) => isInside(place, path) || isInside(path, place),
  );
}
