/** So much has to be passed on; what is longer is not. */
const maxLength = 512;
const maxMembers = 32;
const key = /^[a-z0-9][a-z0-9_*/-]{0,255}$/;
const tenantKey = /^[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}$/;
/** Printable ASCII but comma and equals sign, and no blank at its end. */
const value = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Is it a list of `key=value` that can be passed on? */
export function isTracestate(text: string): boolean {
  if (text === '' || text.length > maxLength) return false;
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  // Empty ones are allowed, and count for nothing.
  const filled = members.filter((member) => member !== '');
  const keys = new Set(filled.map(keyOf));
  const areSound = filled.every(isMember) && keys.size === filled.length;
  return areSound && filled.length > 0 && filled.length <= maxMembers;
}

function keyOf(member: string): string {
  return member.slice(0, Math.max(0, member.indexOf('=')));
}

function isMember(member: string): boolean {
  const name = keyOf(member);
  return (key.test(name) || tenantKey.test(name)) && value.test(member.slice(name.length + 1));
}
