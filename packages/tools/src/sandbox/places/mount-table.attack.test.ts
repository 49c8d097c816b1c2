import { expect, test } from 'vitest';
import { parseMountTable } from './mount-table.ts';

// Mounts of systems that the tests cannot mount, in the format of /proc/self/mountinfo.

const cases: Readonly<
  Record<string, readonly [mounts: string, path: string, others: readonly string[]]>
> = {
  'the root of a distribution in WSL 2 with WSLg': [
    `76 66 8:32 / / rw,relatime - ext4 /dev/sdc rw
     88 87 8:32 / /mnt/wslg/distro ro,relatime shared:3 - ext4 /dev/sdc rw
     87 76 0:42 / /mnt/wslg rw,relatime shared:2 - tmpfs none rw`,
    '/data/me/.ssh',
    ['/mnt/wslg/distro/data/me/.ssh'],
  ],
  'the top folder of btrfs': [
    `26 1 0:22 /@ / rw,noatime - btrfs /dev/nvme0n1p2 rw,subvol=/@
     30 26 0:22 /@data /data rw,noatime - btrfs /dev/nvme0n1p2 rw,subvol=/@data
     31 26 0:22 / /mnt/top rw,noatime - btrfs /dev/nvme0n1p2 rw,subvol=/`,
    '/data/me/.ssh',
    ['/mnt/top/@data/me/.ssh'],
  ],
  'a folder of NFS and its parent': [
    `20 1 8:1 / / rw - ext4 /dev/sda1 rw
     21 20 0:50 / /data rw - nfs4 server:/export/data rw
     22 20 0:51 / /net/all rw - nfs4 server:/export rw
     23 20 0:52 / /net/other rw - nfs4 other:/export rw`,
    '/data/me/.ssh',
    ['/net/all/data/me/.ssh'],
  ],
  'a drive of Windows and a folder of it': [
    String.raw`20 1 8:1 / / rw - ext4 /dev/sda1 rw
     21 20 0:50 / /mnt/c rw - 9p C:\134 rw,aname=drvfs
     22 20 0:51 / /mnt/users rw - 9p C:\134People rw,aname=drvfs`,
    '/mnt/c/People/me/.ssh',
    ['/mnt/users/me/.ssh'],
  ],
  'a path with a space, and a mount that covers a second one': [
    String.raw`20 1 8:1 / / rw - ext4 /dev/sda1 rw
     21 20 8:1 /data/me /mnt/my\040files rw - ext4 /dev/sda1 rw
     22 20 8:1 /data /mnt/covered rw - ext4 /dev/sda1 rw
     23 22 0:60 / /mnt/covered rw - tmpfs t rw`,
    '/data/me/.ssh',
    ['/mnt/my files/.ssh'],
  ],
  'a file that was replaced after it was mounted': [
    `20 1 8:1 / / rw - ext4 /dev/sda1 rw
     21 20 8:1 /data/me/.netrc//deleted /srv/login rw - ext4 /dev/sda1 rw`,
    '/data/me/.netrc',
    ['/srv/login'],
  ],
  'layers of an overlay, with a second mount of the upper layer': [
    String.raw`20 1 0:40 / / rw - overlay overlayroot rw,lowerdir=/media/ro\134:x:/gone:/host,upperdir=/media/rw/up,workdir=/media/rw/work
     23 20 8:2 / /media/ro:x ro - ext4 /dev/sda2 rw
     21 20 8:1 / /media/rw rw - ext4 /dev/sda1 rw
     22 20 8:1 /up /srv/up rw - ext4 /dev/sda1 rw`,
    '/data/me/.ssh',
    ['/media/ro:x/data/me/.ssh', '/media/rw/up/data/me/.ssh', '/srv/up/data/me/.ssh'],
  ],
  'a program that passes on a folder': [
    `20 1 8:1 / / rw - ext4 /dev/sda1 rw
     21 20 0:50 / /mnt/b rw - fuse.bindfs /data/me rw
     22 20 0:50 /public /mnt/p rw - fuse.bindfs /data/me rw
     23 20 0:50 /.ssh/keys /mnt/k rw - fuse.bindfs /data/me rw`,
    '/data/me/.ssh',
    ['/mnt/b/.ssh', '/mnt/b/.ssh/keys', '/mnt/k'],
  ],
  'a file system below a hidden folder': [
    `20 1 8:1 / / rw - ext4 /dev/sda1 rw
     21 20 8:2 / /data/me/keys/usb rw - vfat /dev/sdb1 rw
     22 20 8:2 / /media/usb rw - vfat /dev/sdb1 rw`,
    '/data/me/keys',
    ['/media/usb'],
  ],
};

test.for(Object.entries(cases))(
  '18.725: attack: a command reads %s',
  ([, [mounts, path, others]]) => {
    const text = mounts.replaceAll(/^ +/gm, '');
    const table = parseMountTable(text, (folder) => folder !== '/gone');
    expect(table.otherPaths(path).toSorted()).toEqual(others.toSorted());
  },
);

test('18.726: attack: a path has too many further paths to hide them all', () => {
  const again = (_: unknown, at: number) => `${at + 21} 20 8:1 / /mnt/${at} rw - ext4 /dev/sda1 rw`;
  const text = ['20 1 8:1 / / rw - ext4 /dev/sda1 rw', ...Array.from({ length: 200 }, again)];
  const table = parseMountTable(text.join('\n'));
  expect(() => table.otherPaths('/data/me/.ssh')).toThrow('more than 100 further paths');
  expect(parseMountTable('').otherPaths('/data/me/.ssh')).toEqual([]);
});
