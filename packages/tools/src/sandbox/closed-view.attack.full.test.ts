import { expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// A command that runs without a question sees the folders of the system, but not what a rule denies there.

endAgents();

test.for(sandboxUsers)(
  '18.600: attack: the closed view hides files of the system, as %s',
  async (user, context) => {
    const { run } = await attackAgent(user, context);
    const closed = ['/etc/passwd', '/usr/share', '/srv', '/var/log', '/etc/hosts'];
    const text = await run('cat /etc/passwd; ls /usr/share; ls /srv /etc/hosts; echo end', {
      closed,
    });
    expect(text).not.toContain('root:');
    expect(text).toContain('end');
    expect(text.match(/Permission denied/g)).toHaveLength(2);
  },
);
