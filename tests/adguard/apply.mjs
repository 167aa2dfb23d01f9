// Applies a filter list to URLs as AdGuard does: {"rules": text, "urls": [...]} in, URLs out.
import { Engine, Request, RequestType } from '@adguard/tsurlfilter';
import { readFileSync } from 'node:fs';

const { rules, urls } = JSON.parse(readFileSync(0, 'utf8'));
const engine = Engine.createSync({ filters: [{ id: 1, content: rules }] });
const cleaned = urls.map((url) => {
    const result = engine.matchRequest(new Request(url, url, RequestType.Document));
    return result.getRemoveParamRules().reduce(
        (left, rule) => rule.getAdvancedModifier().removeParameters(left),
        url,
    );
});
process.stdout.write(JSON.stringify({ rules: engine.getRulesCount(), cleaned }));
