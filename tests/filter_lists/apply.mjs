// Reads {"engine", "list", "urls"} from stdin and writes what is left of the URLs when the filter
// list has been applied to them until nothing changes, as a browser does that follows redirects.
import { readFileSync } from 'node:fs';

async function adguard(list) {
    const { Engine, Request, RequestType } = await import('@adguard/tsurlfilter');
    const engine = Engine.createSync({ filters: [{ id: 1, content: list }] });
    const step = (url) => {
        const request = new Request(url, null, RequestType.Document);
        const rules = engine.matchRequest(request).getRemoveParamRules();
        return rules.reduce((left, rule) => rule.getAdvancedModifier().removeParameters(left), url);
    };
    return { step, rules: engine.getRulesCount() };
}

async function ublock(list) {
    const { StaticNetFilteringEngine } = await import('@gorhill/ubo-core');
    const { FilteringContext } = await import('@gorhill/ubo-core/js/filtering-context.js');
    const { default: filters } = await import('@gorhill/ubo-core/js/static-net-filtering.js');
    const engine = await StaticNetFilteringEngine.create();
    await engine.useLists([{ name: 'exported', raw: list }]);
    const step = (url) => {
        const context = new FilteringContext();
        context.setURL(url);
        context.setType('main_frame');
        context.setDocOriginFromURL(url);
        filters.filterQuery(context);
        return context.redirectURL ?? url;
    };
    return { step, rules: filters.getFilterCount() };
}

const { engine, list, urls } = JSON.parse(readFileSync(0, 'utf8'));
const { step, rules } = await { adguard, ublock }[engine](list);
const cleaned = urls.map((url) => {
    for (let rounds = 0; rounds < 10; rounds += 1) {
        const left = step(url);
        if (left === url) break;
        url = left;
    }
    return url;
});
process.stdout.write(JSON.stringify({ cleaned, rules }));
