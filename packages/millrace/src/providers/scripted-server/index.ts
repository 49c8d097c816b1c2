export * from '@millrace/providers/scripted-server';
